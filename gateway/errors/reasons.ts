/** Why any request may be refused, whatever it is for. */
export type RequestReason =
  | 'REQUEST_MALFORMED'
  | 'REQUEST_TIMEOUT'
  | 'HEADERS_TOO_LARGE'
  | 'HOST_INVALID'
  | 'EXPECTATION_FAILED'
  | 'PATH_INVALID'
  | 'ROUTE_NOT_FOUND'
  | 'METHOD_NOT_ALLOWED'
  | 'NOT_READY'

/** Why a caller may be refused. */
export type CallerReason = 'AUTH_MISSING' | 'WRONG_KEYS' | 'KEY_KIND_FORBIDDEN' | 'HOST_FORBIDDEN' | 'ORIGIN_FORBIDDEN'

/** Why a token is not exchanged, whatever it is. */
export type ExchangeReason = 'TOO_MANY_EXCHANGES'

/** Why what a request carries may be refused. */
export type InputReason =
  | 'BODY_MISSING'
  | 'BODY_MALFORMED'
  | 'BODY_INVALID'
  | 'BODY_TOO_LARGE'
  | 'TOO_MANY_LARGE_BODIES'
  | 'CONTENT_TYPE_UNSUPPORTED'
  | 'CONTENT_ENCODING_UNSUPPORTED'
  | 'QUERY_INVALID'
  | 'HEADER_INVALID'

declare module '#shared/rejection.ts' {
  interface ReasonsOf {
    gateway: RequestReason | CallerReason | InputReason | ExchangeReason
  }
}
