import { Rejection } from '#shared/rejection.ts'
import { errorTypeOf, isOverflowType } from './error-types.ts'

const MAX_MESSAGE = 500

/** The finish reason of an answer whose conversation does not fit into the model. */
export const OVERFLOW = 'context_length_exceeded'

/** A word, and nothing that could be a key. */
const CODE = /^(?!sk-)[A-Za-z][\w.-]{0,63}$/

/**
 * Converts a provider's status: 429 becomes PROVIDER_RATE_LIMITED, 408 and 504 PROVIDER_TIMEOUT, other 4xx
 * PROVIDER_REFUSED, anything else PROVIDER_UNAVAILABLE. In the metadata, `code` is the provider's error code, if there
 * is one, and `error_type` the canonical type, if more is known than the status says. If the conversation is too long
 * for the model, however that is reported, `overflow` is `true`.
 */
export function rejectionForStatus(
  provider: string,
  status: number,
  message: string,
  { retryAfter = '', code = '' } = {},
): Rejection {
  const errorType = errorTypeOf(status, code, message)
  const metadata = {
    provider,
    status: String(status),
    message: shorten(message),
    ...(CODE.test(code) ? { code } : {}),
    ...(errorType === undefined ? {} : { error_type: errorType }),
    ...(isOverflowType(errorType) ? { overflow: 'true' } : {}),
    ...(retryAfter === '' ? {} : { retry_after: retryAfter.slice(0, 64) }),
  }
  if (status === 429) return new Rejection('PROVIDER_RATE_LIMITED', metadata)
  if (status === 408 || status === 504) return new Rejection('PROVIDER_TIMEOUT', metadata)
  return new Rejection(status >= 400 && status < 500 ? 'PROVIDER_REFUSED' : 'PROVIDER_UNAVAILABLE', metadata)
}

/** Whether an error says that the conversation does not fit into the model. */
export function isOverflow(error: unknown): boolean {
  return error instanceof Rejection && error.metadata.overflow === 'true'
}

/** The provider cannot be reached, or its answer is cut off or makes no sense. */
export function unavailable(provider: string, message: string, cause?: unknown): Rejection {
  return new Rejection('PROVIDER_UNAVAILABLE', { provider, message: shorten(message) }, { cause })
}

/** One line of at most 500 characters, without control characters or anything that looks like a key. */
function shorten(message: string): string {
  const line = message
    .slice(0, 4 * MAX_MESSAGE)
    .replace(/\p{Cc}+/gu, ' ')
    .replace(/\bsk-[\w*.-]{4,}/g, 'sk-***')
    .trim()
  return line.length > MAX_MESSAGE ? `${line.slice(0, MAX_MESSAGE - 1)}…` : line
}

const TIMEOUTS = new Set(['UND_ERR_CONNECT_TIMEOUT', 'UND_ERR_HEADERS_TIMEOUT', 'UND_ERR_BODY_TIMEOUT', 'ETIMEDOUT'])

/** A connection failed, before an answer began or in the middle of it. */
export function brokenConnection(providerId: string, error: Error, hasBegun: boolean): Error {
  const code = 'code' in error && typeof error.code === 'string' ? error.code : error.name
  if (TIMEOUTS.has(code)) return new Rejection('PROVIDER_TIMEOUT', { provider: providerId }, { cause: error })
  return unavailable(providerId, `${hasBegun ? 'The answer was cut off' : 'It cannot be reached'} (${code})`, error)
}
