import type { ReasonsOf } from '#shared/rejection.ts'
import type { ErrorTable, PublicError } from './public-error.ts'
import type { RequestReason } from './reasons.ts'

/** Errors of `/api/v1/oauth`: `{error, error_description}` (RFC 6749 section 5.2), never cached. */
export const oauthErrors = {
  reasons: {
    ROUTE_NOT_FOUND: () => failure(404, 'invalid_request', 'No such route'),
    METHOD_NOT_ALLOWED: ({ metadata }) => {
      const { headers = [], ...answer } = failure(405, 'invalid_request', 'Method not allowed')
      return { ...answer, headers: [...headers, 'allow', metadata.allow ?? ''] }
    },
    REQUEST_MALFORMED: () => failure(400, 'invalid_request', 'The request is not valid HTTP'),
    REQUEST_TIMEOUT: () => failure(408, 'invalid_request', 'The request took too long to arrive'),
    HEADERS_TOO_LARGE: () => failure(431, 'invalid_request', 'The headers are too large'),
    HOST_INVALID: () =>
      failure(400, 'invalid_request', 'The request must have exactly one Host header, with the address of the server'),
    EXPECTATION_FAILED: () => failure(417, 'invalid_request', 'Only 100-continue may be expected'),
    PATH_INVALID: () => failure(400, 'invalid_request', 'The path is not valid'),
    STORE_UNAVAILABLE: () => failure(503, 'temporarily_unavailable', 'The service is temporarily unavailable'),
    SERVICE_CLOSING: () => failure(503, 'temporarily_unavailable', 'The service is temporarily unavailable'),
    SECRET_REFUSED: () => failure(503, 'temporarily_unavailable', 'The service is temporarily unavailable'),
    NOT_READY: () => failure(503, 'temporarily_unavailable', 'The server is starting or stopping'),
  },
  unavailable: () => failure(503, 'temporarily_unavailable', 'The service is temporarily unavailable'),
  internal: () => failure(500, 'server_error', 'Internal server error'),
} as const satisfies ErrorTable<RequestReason | ReasonsOf['store' | 'server']>

function failure(status: number, error: string, description: string): PublicError {
  return { status, body: { error, error_description: description }, headers: ['pragma', 'no-cache'] }
}
