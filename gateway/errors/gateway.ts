import type { Reason } from '#shared/reasons.ts'
import type { ReasonsOf } from '#shared/rejection.ts'
import { challengeHeader } from './challenge.ts'
import type { ErrorTable, PublicError } from './error-table.ts'
import { providerFailure } from './provider.ts'

const INVALID = 'Invalid request parameters'

/** Errors of `/api/v1`: `{error: {code, message}}`. */
export const gatewayErrors = {
  reasons: {
    AUTH_MISSING: unauthorized('Missing Authentication header'),
    CREDENTIAL_REFUSED: (reason) =>
      unauthorized(hinted('Invalid API key or access token', reason.metadata.hint))(reason),
    PRINCIPAL_MISSING: unauthorized('Missing Authentication header'),
    WRONG_KEYS: ({ metadata }) => ({
      ...failure(429, 'Rate limit exceeded: too many wrong keys or passwords came from this address'),
      headers: ['retry-after', metadata.retry_after ?? '60'],
    }),
    KEY_KIND_FORBIDDEN: ({ metadata }) =>
      failure(
        403,
        metadata.credential === 'management'
          ? 'Management keys cannot perform this operation: use a workspace key'
          : 'Only management keys can perform this operation',
      ),
    ROUTE_NOT_FOUND: ({ metadata: { hint = 'no such route' } }) => failure(404, `Resource not found: ${hint}`),
    METHOD_NOT_ALLOWED: ({ metadata }) => ({
      ...failure(405, `Method not allowed. Allowed here: ${metadata.allow ?? ''}`),
      headers: ['allow', metadata.allow ?? ''],
    }),
    REQUEST_MALFORMED: () => failure(400, `${INVALID}: the request is not valid HTTP`),
    REQUEST_TIMEOUT: () => failure(408, 'Operation timed out: the request took too long to arrive'),
    HEADERS_TOO_LARGE: () => failure(431, 'The headers are too large'),
    HOST_INVALID: () => failure(400, `${INVALID}: expected one Host header, that of the address`),
    EXPECTATION_FAILED: () => failure(417, 'Only 100-continue may be expected'),
    BODY_MISSING: () => failure(400, `${INVALID}: a request body is required`),
    BODY_MALFORMED: ({ metadata }) => failure(400, `${INVALID}: ${metadata.problem ?? 'malformed body'}`),
    BODY_INVALID: ({ metadata }) => invalid(metadata),
    BODY_TOO_LARGE: ({ metadata }) => failure(413, `Payload too large: the body has more than ${metadata.limit} bytes`),
    TOO_MANY_LARGE_BODIES: ({ metadata }) => ({
      ...unavailable('too many large request bodies arrived at the same time'),
      headers: ['retry-after', metadata.retry_after ?? '1'],
    }),
    CONTENT_TYPE_UNSUPPORTED: ({ metadata }) =>
      failure(415, `The content type must be ${metadata.expected ?? 'another'}`),
    CONTENT_ENCODING_UNSUPPORTED: () => failure(415, 'The body must not be compressed'),
    QUERY_INVALID: ({ metadata }) => invalid(metadata),
    HEADER_INVALID: ({ metadata }) => invalid(metadata),
    PATH_INVALID: ({ metadata }) =>
      metadata.field === undefined
        ? failure(400, `${INVALID}: the path is not percent-encoded UTF-8`)
        : invalid(metadata),
    REQUEST_INVALID: ({ metadata }) => invalid(metadata),
    MODEL_NOT_FOUND: ({ message }) =>
      invalid({ field: 'model', problem: `${message}; GET /api/v1/models lists all models` }),
    NO_ENDPOINT: ({ message, metadata: { fields } }) =>
      failure(404, `Resource not found: ${message}${fields === undefined ? '' : `, without a place for ${fields}`}`),
    MODEL_FORBIDDEN: ({ message }) => failure(403, message),
    PRESET_NOT_FOUND: ({ message }) => failure(404, `Resource not found: ${message}`),
    PRESET_VERSION_NOT_FOUND: ({ message }) => failure(404, `Resource not found: ${message}`),
    PRESET_CONFLICT: () => failure(409, 'Resource conflict. Please try again later.'),
    INVALID_CURSOR: () => invalid({ field: 'cursor', problem: 'does not belong to this list' }),
    PLAN_REQUIRED: ({ message }) => failure(403, message),
    ORGANIZATION_NOT_FOUND: ({ message }) => failure(404, message),
    ISSUER_NOT_FOUND: ({ message }) => failure(404, message),
    POLICY_NOT_FOUND: ({ message }) => failure(404, message),
    CHECK_NOT_FOUND: ({ message }) => failure(404, message),
    CHECK_EXISTS: ({ message }) => failure(409, message),
    TOO_MANY_ISSUERS: ({ message }) => failure(409, message),
    TOO_MANY_POLICIES: ({ message }) => failure(409, message),
    SIGNING_UNAVAILABLE: () => failure(500, 'Signing keys are not configured: PORTICO_KEY_ENCRYPTION_KEY must be set'),
    STORE_UNAVAILABLE: ({ domain }) => unavailable(`the store of the ${domain} service cannot be used`),
    REQUEST_DUPLICATE: () => failure(409, 'Resource conflict. Please try again later.'),
    API_KEY_NOT_FOUND: () => failure(404, 'Resource not found: no such API key'),
    WORKSPACE_NOT_FOUND: () => failure(404, 'Resource not found: no such workspace'),
    GENERATION_NOT_FOUND: ({ message }) => failure(404, `Resource not found: ${message}`),
    CREDIT_INSUFFICIENT: unpaid,
    PRICE_UNKNOWN: unpaid,
    RATE_LIMITED: rateLimited,
    PROVIDER_REFUSED: providerError,
    PROVIDER_RATE_LIMITED: providerError,
    PROVIDER_UNAVAILABLE: providerError,
    PROVIDER_TIMEOUT: providerError,
    SERVICE_CLOSING: ({ domain }) => unavailable(`the ${domain} service is stopping`),
    SECRET_REFUSED: ({ domain }) => unavailable(`the ${domain} service cannot be reached`),
    NOT_READY: ({ metadata: { state = 'starting or stopping' } }) => failure(503, `The server is ${state}`),
    // Pages may call from anywhere: they need a key.
    TOO_MANY_EXCHANGES: 'internal',
    HOST_FORBIDDEN: 'internal',
    ORIGIN_FORBIDDEN: 'internal',
    MANAGEMENT_KEY_REQUIRED: 'internal',
    // Federation is managed, and tokens are exchanged, elsewhere.
    OPERATOR_REQUIRED: 'internal',
    GRANT_REFUSED: 'internal',
    SUBJECT_TOKEN_INVALID: 'internal',
    ISSUER_KEYS_UNAVAILABLE: 'internal',
    PROVIDER_NOT_FOUND: 'internal',
  },
  unavailable: (deadlinePassed, service) =>
    deadlinePassed
      ? failure(504, `Operation timed out: the ${service} service took too long to respond`)
      : unavailable(`the ${service} service cannot be reached`),
  internal: () => failure(500, 'Internal Server Error'),
} as const satisfies ErrorTable<ReasonsOf['gateway' | 'identity' | 'inference' | 'server']>

function failure(code: number, message: string): PublicError {
  return { status: code, body: { error: { code, message } } }
}

function hinted(message: string, hint: string | undefined): string {
  return hint === undefined ? message : `${message}: ${hint}`
}

/** `problem` names the service that has it. */
function unavailable(problem: string): PublicError {
  return failure(503, `Service temporarily unavailable: ${problem}`)
}

function unauthorized(message: string): (reason: Reason) => PublicError {
  return (reason) => ({ ...failure(401, message), headers: challengeHeader(reason) })
}

/** A spending limit that does not cover the request. */
function unpaid({ message }: Reason): PublicError {
  const metadata = { error_type: 'payment_required' }
  return { status: 402, body: { error: { code: 402, message: `Insufficient credits: ${message}`, metadata } } }
}

/** A rate of the key, with the headers of OpenRouter: the limit, what is left of it, and when it is whole again. */
function rateLimited({
  message,
  metadata: { most = '', reset = '', retry_after: retryAfter = '1' },
}: Reason): PublicError {
  const metadata = { error_type: 'rate_limit_exceeded' }
  return {
    status: 429,
    body: { error: { code: 429, message: `Rate limit exceeded: ${message}`, metadata } },
    headers: [
      ...['retry-after', retryAfter, 'x-ratelimit-limit', most],
      ...['x-ratelimit-remaining', '0', 'x-ratelimit-reset', reset],
    ],
  }
}

/** What messages about providers begin with, by status; what the provider said follows. */
const BEGINNINGS: Readonly<Record<number, string>> = {
  400: INVALID,
  404: 'Resource not found',
  408: 'Operation timed out',
  412: 'Precondition failed',
  413: 'Payload too large',
  422: 'Invalid argument',
  429: 'Rate limit exceeded',
  502: 'Provider error',
  503: 'Provider overloaded',
}

/** What a provider said of the request, and when to try again where it said so. */
function providerError(reason: Reason): PublicError {
  const { status, errorType } = providerFailure(reason) ?? { status: 502, errorType: 'provider_unavailable' }
  const { provider = '', code, retry_after: retryAfter = '' } = reason.metadata
  const metadata = { provider_name: provider, error_type: errorType, provider_code: code || undefined }
  const beginning = BEGINNINGS[status]
  // Another Portico, as a provider, begins its own message in the same way.
  const text = reason.message.replace(`: ${beginning}: `, ': ')
  const message = beginning === undefined ? text : `${beginning}: ${text}`
  return {
    status,
    body: { error: { code: status, message, metadata } },
    ...retryHeader(retryAfter),
  }
}

/** Whole seconds or a date, in the form that the provider chose; anything else is dropped. */
function retryHeader(value: string): { headers?: readonly string[] } {
  if (/^\d{1,9}(\.\d+)?$/.test(value)) return { headers: ['retry-after', String(Math.ceil(Number(value)))] }
  return /^[A-Z][\w ,:+-]{1,63}$/.test(value) && !Number.isNaN(Date.parse(value))
    ? { headers: ['retry-after', value] }
    : {}
}

/** What is wrong with a request, and the path of the member that is, where it is one. */
function invalid({ field = '', problem = 'is not valid' }: Readonly<Record<string, string>>): PublicError {
  if (field === '') return failure(400, `${INVALID}: the body ${problem}`)
  return { status: 400, body: { error: { code: 400, message: `${INVALID}: ${field}: ${problem}`, param: field } } }
}
