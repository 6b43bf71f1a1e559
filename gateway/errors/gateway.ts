import type { ErrorTable, PublicError } from '../errors.ts'

const INVALID = 'Invalid request parameters'

/** Errors of `/api/v1`: `{error: {code, message}}` (`contract/gateway-facts.md` 5). */
export const gatewayErrors: ErrorTable = {
  reasons: {
    AUTH_MISSING: () => failure(401, 'Missing Authentication header'),
    CREDENTIAL_REFUSED: () => failure(401, 'Invalid API key'),
    PRINCIPAL_MISSING: () => failure(401, 'Missing Authentication header'),
    KEY_KIND_FORBIDDEN: () => failure(403, 'Management keys cannot perform this operation'),
    ROUTE_NOT_FOUND: () => failure(404, 'Resource not found'),
    METHOD_NOT_ALLOWED: ({ metadata }) => ({
      ...failure(405, 'Method not allowed'),
      headers: ['allow', metadata.allow ?? ''],
    }),
    BODY_MISSING: () => failure(400, `${INVALID}: a request body is required`),
    BODY_MALFORMED: ({ metadata }) => failure(400, `${INVALID}: ${metadata.problem ?? 'malformed body'}`),
    BODY_INVALID: ({ metadata }) => failure(400, located(metadata)),
    BODY_TOO_LARGE: ({ metadata }) => failure(413, `The body has more than ${metadata.limit} bytes`),
    CONTENT_TYPE_UNSUPPORTED: () => failure(415, 'The content type must be application/json'),
    CONTENT_ENCODING_UNSUPPORTED: () => failure(415, 'The body must not be compressed'),
    QUERY_INVALID: ({ metadata }) => failure(400, located(metadata)),
    HEADER_INVALID: ({ metadata }) => failure(400, located(metadata)),
    PATH_INVALID: () => failure(400, `${INVALID}: the path is not valid`),
    REQUEST_INVALID: ({ metadata }) => failure(400, located(metadata)),
    NOT_READY: () => failure(503, 'The server is starting or stopping'),
  },
  unavailable: (deadlinePassed) =>
    deadlinePassed ? failure(504, 'Operation timed out') : failure(503, 'Service temporarily unavailable'),
  internal: () => failure(500, 'Internal Server Error'),
}

function failure(code: number, message: string): PublicError {
  return { status: code, body: { error: { code, message } } }
}

function located(metadata: Readonly<Record<string, string>>): string {
  const problem = metadata.problem ?? 'invalid'
  const field = metadata.field ?? ''
  return field === '' ? `${INVALID}: ${problem}` : `${INVALID}: ${field}: ${problem}`
}
