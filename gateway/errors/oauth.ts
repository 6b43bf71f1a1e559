import type { Reason } from '#shared/reasons.ts'
import type { ReasonsOf } from '#shared/rejection.ts'
import type { ErrorTable, PublicError } from './error-table.ts'
import type { ExchangeReason, InputReason, RequestReason } from './reasons.ts'

/** Errors of `/api/v1/oauth`: `{error, error_description}` (RFC 6749 section 5.2), never cached. */
export const oauthErrors = {
  reasons: {
    ROUTE_NOT_FOUND: () => failure(404, 'invalid_request', 'No such route'),
    METHOD_NOT_ALLOWED: ({ metadata }) =>
      withHeader(
        failure(405, 'invalid_request', `Method not allowed. Allowed here: ${metadata.allow ?? ''}`),
        'allow',
        metadata.allow,
      ),
    REQUEST_MALFORMED: () => failure(400, 'invalid_request', 'The request is not valid HTTP'),
    REQUEST_TIMEOUT: () => failure(408, 'invalid_request', 'The request took too long to arrive'),
    HEADERS_TOO_LARGE: () => failure(431, 'invalid_request', 'The headers are too large'),
    HOST_INVALID: () =>
      failure(400, 'invalid_request', 'The request must have exactly one Host header, with the address of the server'),
    EXPECTATION_FAILED: () => failure(417, 'invalid_request', 'Only 100-continue may be expected'),
    PATH_INVALID: () => failure(400, 'invalid_request', 'The path is not percent-encoded UTF-8'),
    QUERY_INVALID: 'internal',
    HEADER_INVALID: 'internal',
    BODY_MISSING: () => failure(400, 'invalid_request', 'The parameters are required, as a form'),
    BODY_MALFORMED: ({ metadata }) => failure(400, 'invalid_request', `The form is malformed: ${metadata.problem}`),
    BODY_INVALID: parameterProblem,
    BODY_TOO_LARGE: ({ metadata }) => failure(413, 'invalid_request', `The form has more than ${metadata.limit} bytes`),
    TOO_MANY_LARGE_BODIES: unavailable,
    // Every invalid request is 400 (RFC 6749 section 5.2), apart from purely HTTP-related problems.
    CONTENT_TYPE_UNSUPPORTED: ({ metadata }) =>
      failure(400, 'invalid_request', `The content type must be ${metadata.expected}, in UTF-8`),
    CONTENT_ENCODING_UNSUPPORTED: () => failure(400, 'invalid_request', 'The form must not be compressed'),
    TOO_MANY_EXCHANGES: ({ metadata }) =>
      withHeader(
        failure(429, 'invalid_request', 'Too many exchanges came from this address'),
        'retry-after',
        metadata.retry_after ?? '60',
      ),
    // One answer for every problem of a token or its policy, so that callers do not learn which policies exist.
    GRANT_REFUSED: () => failure(400, 'invalid_grant', 'The subject token was not accepted.'),
    SUBJECT_TOKEN_INVALID: () => failure(400, 'invalid_request', 'subject_token: is not a JWT'),
    ISSUER_KEYS_UNAVAILABLE: ({ metadata }) =>
      withHeader(
        failure(503, 'temporarily_unavailable', 'The keys of the issuer could not be fetched; try again shortly'),
        'retry-after',
        metadata.retry_after ?? '1',
      ),
    SIGNING_UNAVAILABLE: () =>
      failure(500, 'server_error', 'The token could not be issued: PORTICO_KEY_ENCRYPTION_KEY must be set correctly'),
    STORE_UNAVAILABLE: unavailable,
    SERVICE_CLOSING: unavailable,
    SECRET_REFUSED: unavailable,
    NOT_READY: () => failure(503, 'temporarily_unavailable', 'The server is starting or stopping'),
  },
  unavailable,
  internal: () => failure(500, 'server_error', 'Internal server error'),
} as const satisfies ErrorTable<
  RequestReason | InputReason | ExchangeReason | ExchangeRefusal | ReasonsOf['store' | 'server']
>

/** Why identity exchanges a token for none. */
type ExchangeRefusal = 'GRANT_REFUSED' | 'SUBJECT_TOKEN_INVALID' | 'ISSUER_KEYS_UNAVAILABLE' | 'SIGNING_UNAVAILABLE'

/** OAuth errors other than `invalid_request`, by the parameter whose value is not supported. */
const ERRORS: Readonly<Record<string, string>> = { grant_type: 'unsupported_grant_type', scope: 'invalid_scope' }

function parameterProblem({ metadata: { field = '', problem = '' } }: Reason): PublicError {
  const unserved = problem.startsWith('must be "') ? ERRORS[field] : undefined
  return failure(400, unserved ?? 'invalid_request', field === '' ? `The form ${problem}` : `${field}: ${problem}`)
}

function unavailable(): PublicError {
  return failure(503, 'temporarily_unavailable', 'The service is temporarily unavailable')
}

/** RFC 6749 allows descriptions neither quotation marks nor backslashes, nor anything but printable ASCII. */
function failure(status: number, error: string, text: string): PublicError {
  const description = text.replaceAll('"', "'").replace(/[^\x20-\x5b\x5d-\x7e]/g, '?')
  return { status, body: { error, error_description: description }, headers: NOT_CACHED }
}

const NOT_CACHED = ['pragma', 'no-cache'] as const

function withHeader({ headers = [], ...answer }: PublicError, name: string, value = ''): PublicError {
  return { ...answer, headers: [...headers, name, value] }
}
