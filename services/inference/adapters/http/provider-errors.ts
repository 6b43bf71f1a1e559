import { Rejection } from '#shared/rejection.ts'

const MAX_MESSAGE = 500

/** Code of a conversation that does not fit into the model. */
export const OVERFLOW = 'context_length_exceeded'

const OVERFLOW_CODES = new Set([
  ...[OVERFLOW, 'max_tokens_exceeded', 'token_limit_exceeded', 'string_too_long', 'string_above_max_length'],
  'exceed_context_size_error',
])
/** How providers without a code of their own say so. */
const OVERFLOW_WORDS =
  /context (length|window|size|limit)|maximum prompt length|(prompt|input) is too long|input token count.*exceeds|reduce the length of the (messages|prompt|input)/i
const MAX_CODE = 64

/**
 * What a provider's status becomes: 429 PROVIDER_RATE_LIMITED, 408 and 504 PROVIDER_TIMEOUT, other 4xx PROVIDER_REFUSED, everything
 * else PROVIDER_UNAVAILABLE. The metadata has the provider's word for what is wrong as `code`, where it has one; a conversation that is too
 * long is `context_length_exceeded`, whoever says so.
 */
export function rejectionForStatus(
  provider: string,
  status: number,
  message: string,
  { retryAfter = '', code = '' } = {},
): Rejection {
  const known = overflows(status, code, message) ? OVERFLOW : code.slice(0, MAX_CODE)
  const metadata = {
    provider,
    status: String(status),
    message: shorten(message),
    ...(known === '' ? {} : { code: known }),
    ...(retryAfter === '' ? {} : { retry_after: retryAfter.slice(0, 64) }),
  }
  if (status === 429) return new Rejection('PROVIDER_RATE_LIMITED', metadata)
  if (status === 408 || status === 504) return new Rejection('PROVIDER_TIMEOUT', metadata)
  return new Rejection(status >= 400 && status < 500 ? 'PROVIDER_REFUSED' : 'PROVIDER_UNAVAILABLE', metadata)
}

function overflows(status: number, code: string, message: string): boolean {
  if (status !== 400 && status !== 413 && status !== 422) return false
  return OVERFLOW_CODES.has(code) || OVERFLOW_WORDS.test(message)
}

/** Whether a provider says that the conversation does not fit into the model. */
export function isOverflow(error: unknown): boolean {
  return error instanceof Rejection && error.reason === 'PROVIDER_REFUSED' && error.metadata.code === OVERFLOW
}

/** The provider cannot be reached, or its answer is cut or makes no sense. */
export function unavailable(provider: string, message: string, cause?: unknown): Rejection {
  return new Rejection('PROVIDER_UNAVAILABLE', { provider, message: shorten(message) }, { cause })
}

/** One line of at most 500 characters, without control characters. */
function shorten(message: string): string {
  const line = message
    .slice(0, 4 * MAX_MESSAGE)
    .replace(/\p{Cc}+/gu, ' ')
    .trim()
  return line.length > MAX_MESSAGE ? `${line.slice(0, MAX_MESSAGE - 1)}…` : line
}
