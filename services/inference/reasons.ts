import { Code } from '@connectrpc/connect'
import type { ReasonTable } from '#shared/reasons.ts'
import { storeReasons } from '#shared/stores/store-outage.ts'

/**
 * The rejections of the inference service. Those for errors of providers carry `provider`, `model`, `message` and, if
 * known, `status`, `code` (the provider's own word), `error_type` (its canonical type), `overflow` (`true`: the
 * conversation does not fit into the model) and `retry_after`.
 */
export const reasons = {
  ...storeReasons,
  PRINCIPAL_MISSING: { code: Code.Unauthenticated, message: 'The call names no principal' },
  REQUEST_INVALID: { code: Code.InvalidArgument, message: '{field}: {problem}' },
  MODEL_NOT_FOUND: { code: Code.NotFound, message: 'The model "{model}" does not exist' },
  MANAGEMENT_KEY_REQUIRED: { code: Code.PermissionDenied, message: 'This requires a management key' },
  PRESET_NOT_FOUND: { code: Code.NotFound, message: 'The preset "{slug}" does not exist' },
  PRESET_VERSION_NOT_FOUND: { code: Code.NotFound, message: 'The preset "{slug}" has no version {version}' },
  PRESET_CONFLICT: {
    code: Code.Aborted,
    message: 'Others are creating versions of the preset "{slug}" at the same time',
  },
  // `demands`: members of the request's routing, such as `only`.
  NO_ENDPOINT: { code: Code.NotFound, message: 'No endpoint of "{model}" meets the demands of the request: {demands}' },
  MODEL_FORBIDDEN: { code: Code.PermissionDenied, message: 'The key may not use the model "{model}"' },
  PROVIDER_NOT_FOUND: { code: Code.NotFound, message: 'The provider "{provider_id}" does not exist' },
  REQUEST_DUPLICATE: { code: Code.AlreadyExists, message: 'Request {request_id} was made already' },
  GENERATION_NOT_FOUND: { code: Code.NotFound, message: 'No finished generation has the id "{request_id}"' },
  // `limit` is `key` or `workspace`; if less output could be paid for, `affordable_tokens` says how much.
  CREDIT_INSUFFICIENT: {
    code: Code.FailedPrecondition,
    message: 'The limit of the {limit} leaves too little: {problem}',
  },
  PRICE_UNKNOWN: {
    code: Code.FailedPrecondition,
    message:
      'The price of {model} is unknown, and the {limit} has a limit: PORTICO_CONFIG can set its pricing, and ' +
      'PORTICO_ALLOW_UNPRICED_MODELS can allow it',
  },
  // With `limit` (`requests_per_minute`, …), its value `most`, `reset` in milliseconds since the epoch, and
  // `retry_after` in seconds.
  RATE_LIMITED: { code: Code.ResourceExhausted, message: '{problem}' },
  PROVIDER_REFUSED: { code: Code.FailedPrecondition, message: '{provider} refused the request: {message}' },
  PROVIDER_RATE_LIMITED: { code: Code.ResourceExhausted, message: '{provider} is rate limiting requests: {message}' },
  PROVIDER_UNAVAILABLE: { code: Code.Unavailable, message: '{provider} is unavailable: {message}' },
  PROVIDER_TIMEOUT: { code: Code.DeadlineExceeded, message: '{provider} did not answer in time' },
} as const satisfies ReasonTable

declare module '#shared/rejection.ts' {
  interface ReasonsOf {
    inference: keyof typeof reasons
  }
}
