import type { Reason } from '#shared/reasons.ts'
import type { ReasonsOf } from '#shared/rejection.ts'
import { challengeHeader } from './challenge.ts'
import type { ErrorTable, PublicError } from './error-table.ts'

/** Errors of `/api`: `{_tag, message, …}`. */
export const instanceErrors = {
  reasons: {
    AUTH_MISSING: unauthorized,
    CREDENTIAL_REFUSED: unauthorized,
    PRINCIPAL_MISSING: unauthorized,
    KEY_KIND_FORBIDDEN: ({ metadata }) =>
      forbidden(
        `${metadata.credential === 'access-token' ? 'Access tokens' : 'Management keys'} have no access to sessions`,
      ),
    WRONG_KEYS: ({ metadata }) => ({
      ...tagged(429, 'TooManyRequestsError', 'Too many wrong keys or passwords came from this address'),
      headers: ['retry-after', metadata.retry_after ?? '60'],
    }),
    HOST_FORBIDDEN: () =>
      forbidden('Requests must address a loopback name of this server, unless PORTICO_AUTH is basic or bearer'),
    ORIGIN_FORBIDDEN: () =>
      forbidden('Requests of this origin are not allowed: PORTICO_CORS_ORIGINS lists those that are'),
    ROUTE_NOT_FOUND: () => tagged(404, 'NotFoundError', 'No such route'),
    METHOD_NOT_ALLOWED: ({ metadata }) => ({
      ...tagged(405, 'MethodNotAllowedError', `Allowed here: ${metadata.allow ?? ''}`),
      headers: ['allow', metadata.allow ?? ''],
    }),
    REQUEST_MALFORMED: () => invalid('The request is not valid HTTP', {}),
    REQUEST_TIMEOUT: () => tagged(408, 'RequestTimeoutError', 'The request took too long to arrive'),
    HEADERS_TOO_LARGE: () => invalid('The headers are too large', { kind: 'Headers' }, 431),
    HOST_INVALID: () =>
      invalid('The request must have exactly one Host header, with the address of the server', { kind: 'Headers' }),
    EXPECTATION_FAILED: () => invalid('Only 100-continue may be expected', { kind: 'Headers' }, 417),
    BODY_MISSING: () => invalid('A request body is required', { kind: 'Payload' }),
    BODY_MALFORMED: ({ metadata }) => invalid(sentence(metadata.problem), { kind: 'Payload' }),
    BODY_INVALID: ({ metadata }) => invalid(located(metadata), { kind: 'Payload' }),
    BODY_TOO_LARGE: ({ metadata }) => invalid(`The body has more than ${metadata.limit} bytes`, PAYLOAD, 413),
    TOO_MANY_LARGE_BODIES: ({ domain, metadata }) => ({
      ...unavailable('Too many large request bodies arrived at the same time; try again', domain),
      headers: ['retry-after', metadata.retry_after ?? '1'],
    }),
    CONTENT_TYPE_UNSUPPORTED: ({ metadata }) =>
      invalid(`The content type must be ${metadata.expected ?? 'another'}`, PAYLOAD, 415),
    CONTENT_ENCODING_UNSUPPORTED: () => invalid('The body must not be compressed', PAYLOAD, 415),
    QUERY_INVALID: ({ metadata }) => invalid(located(metadata), { kind: 'Query' }),
    HEADER_INVALID: ({ metadata }) => invalid(located(metadata), { kind: 'Headers' }),
    PATH_INVALID: ({ metadata }) =>
      metadata.field === undefined
        ? invalid('The path is not percent-encoded UTF-8', { kind: 'Params' })
        : invalid(pathProblem(metadata), { field: metadata.field }),
    REQUEST_INVALID: ({ metadata }) => invalid(located(metadata), { field: publicName(metadata.field) }),
    LOCATION_INVALID: ({ message }) => invalid(message, { field: 'directory' }),
    PLUGIN_NOT_FOUND: ({ metadata, message }) => invalid(message, { field: metadata.field }),
    PLUGINS_NOT_UPDATED: ({ message }) => unavailable(message, 'plugin'),
    DESTINATION_INVALID: ({ message }) => invalid(message, { field: 'directory' }),
    EVENTS_OVERFLOWED: ({ domain }) =>
      tagged(503, 'EventsOverflowedError', 'The reader fell behind; resume from the last id', { service: domain }),
    ATTACHMENT_INVALID: ({ message }) => invalid(message, { field: 'files' }),
    INVALID_CURSOR: () => tagged(400, 'InvalidCursorError', 'Invalid cursor'),
    AGENT_NOT_FOUND: ({ metadata, message }) =>
      tagged(404, 'AgentNotFoundError', message, { agentID: metadata.agent_id ?? '' }),
    SESSION_NOT_FOUND: ({ metadata, message }) =>
      tagged(404, 'SessionNotFoundError', message, { sessionID: metadata.session_id ?? '' }),
    MESSAGE_NOT_FOUND: ({ metadata, message }) =>
      tagged(404, 'MessageNotFoundError', message, {
        sessionID: metadata.session_id ?? '',
        messageID: metadata.message_id ?? '',
      }),
    PROVIDER_NOT_FOUND: ({ metadata }) =>
      tagged(404, 'ProviderNotFoundError', `Provider not found: ${metadata.provider_id}`, {
        providerID: metadata.provider_id ?? '',
      }),
    PERMISSION_REQUEST_NOT_FOUND: ({ metadata, message }) =>
      tagged(404, 'PermissionNotFoundError', message, { requestID: metadata.request_id ?? '' }),
    LOCATION_NOT_FOUND: ({ metadata, message }) => tagged(404, 'LocationNotFoundError', message, location(metadata)),
    LOCATION_FORBIDDEN: ({ metadata, message }) =>
      tagged(403, 'LocationPermissionDeniedError', message, location(metadata)),
    LOCATION_RELOAD_FAILED: ({ message }) => unavailable(message, 'location'),
    SESSION_EMPTY: ({ message }) => invalid(message, { kind: 'empty_session' }),
    SESSION_EXISTS: ({ metadata, message }) =>
      tagged(409, 'ConflictError', message, { resource: metadata.session_id ?? '' }),
    MESSAGE_EXISTS: ({ metadata, message }) =>
      tagged(409, 'ConflictError', message, { resource: metadata.message_id ?? '' }),
    PROMPT_CONFLICT: ({ metadata, message }) =>
      tagged(409, 'ConflictError', message, { resource: metadata.message_id ?? '' }),
    INBOX_FULL: ({ metadata, message }) =>
      tagged(409, 'ConflictError', message, { resource: metadata.session_id ?? '' }),
    INBOX_ITEM_CANCELLED: ({ metadata, message }) =>
      tagged(409, 'ConflictError', message, { resource: metadata.message_id ?? '' }),
    INBOX_ITEM_CONFLICT: ({ metadata, message }) =>
      tagged(409, 'ConflictError', message, { resource: metadata.message_id ?? '' }),
    STORE_UNAVAILABLE: ({ domain }) => unavailable('The store is unavailable; try again later', domain),
    PEER_UNAVAILABLE: ({ domain, metadata }) => unavailable('A service is unavailable', metadata.peer ?? domain),
    SERVICE_CLOSING: ({ domain }) => unavailable('A service is stopping; try again', domain),
    SECRET_REFUSED: ({ domain }) => unavailable('A service is unavailable', domain),
    NOT_READY: ({ domain }) => unavailable('The server is starting or stopping', domain),
    // Tools are run, and leases held, by the session service alone; keys are managed elsewhere.
    LOCATION_GENERATION_GONE: 'internal',
    SKILL_NOT_FOUND: 'internal',
    TOOL_NOT_FOUND: 'internal',
    TOOL_INPUT_INVALID: 'internal',
    TOOL_UNAVAILABLE: 'internal',
    TOOL_REFUSED: 'internal',
    TOOL_FENCED: 'internal',
    TOOL_CALL_STARTED: 'internal',
    TOOL_ACCESS_CHANGED: 'internal',
    LEASE_LOST: 'internal',
    TOO_MANY_EXCHANGES: 'internal',
    MANAGEMENT_KEY_REQUIRED: 'internal',
    API_KEY_NOT_FOUND: 'internal',
    WORKSPACE_NOT_FOUND: 'internal',
    // Federation is managed, and tokens are exchanged, elsewhere.
    OPERATOR_REQUIRED: 'internal',
    PLAN_REQUIRED: 'internal',
    ORGANIZATION_NOT_FOUND: 'internal',
    ISSUER_NOT_FOUND: 'internal',
    POLICY_NOT_FOUND: 'internal',
    CHECK_NOT_FOUND: 'internal',
    CHECK_EXISTS: 'internal',
    TOO_MANY_ISSUERS: 'internal',
    TOO_MANY_POLICIES: 'internal',
    GRANT_REFUSED: 'internal',
    SUBJECT_TOKEN_INVALID: 'internal',
    ISSUER_KEYS_UNAVAILABLE: 'internal',
    SIGNING_UNAVAILABLE: 'internal',
  },
  unavailable: (deadlinePassed, service) =>
    unavailable(deadlinePassed ? 'The request took too long' : 'A service is unavailable', service),
  internal: (ref) => tagged(500, 'UnknownError', 'Internal server error', { ref }),
} as const satisfies ErrorTable<
  ReasonsOf['gateway' | 'identity' | 'catalog' | 'session' | 'server'] | 'PROVIDER_NOT_FOUND'
>

const PAYLOAD = { kind: 'Payload' }
const MESSAGE_LIMIT = 1024

function tagged(status: number, tag: string, message: string, more: Record<string, unknown> = {}): PublicError {
  return { status, body: { _tag: tag, message: message.slice(0, MESSAGE_LIMIT), ...more } }
}

function unavailable(message: string, service: string): PublicError {
  return tagged(503, 'ServiceUnavailableError', message, { service })
}

function invalid(message: string, more: Record<string, unknown>, status = 400): PublicError {
  return tagged(status, 'InvalidRequestError', message, more)
}

function unauthorized(reason: Reason): PublicError {
  return { ...tagged(401, 'UnauthorizedError', 'Authentication required'), headers: challengeHeader(reason) }
}

function forbidden(message: string): PublicError {
  return tagged(403, 'ForbiddenError', message)
}

function located(metadata: Reason['metadata']): string {
  const problem = metadata.problem ?? 'is not valid'
  const field = metadata.field ?? ''
  return field === '' ? `The body ${problem}` : `${publicName(field)}: ${problem}`
}

/** OpenCode's clients know the text for a session id. */
function pathProblem(metadata: Reason['metadata']): string {
  return metadata.field === 'sessionID' ? 'Invalid session ID' : located(metadata)
}

function sentence(problem = 'invalid body'): string {
  return problem.slice(0, 1).toUpperCase() + problem.slice(1)
}

const PUBLIC_NAMES: Readonly<Record<string, string>> = {
  page_size: 'limit',
  project_id: 'project',
  start_time: 'from',
  time_zone: 'timezone',
}

/** `session_id` → `sessionID`, `files[0].name` → `files.0.name`: services name fields as the protobuf files do. */
function publicName(field = ''): string {
  const named = PUBLIC_NAMES[field]
  if (named !== undefined) return named
  return field
    .replace(/\[(\d+)\]/g, '.$1')
    .replace(/_id\b/g, 'ID')
    .replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase())
}

function location(metadata: Reason['metadata']): Record<string, unknown> {
  return { location: { directory: metadata.directory ?? '' } }
}
