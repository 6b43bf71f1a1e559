import { Rejection } from '#shared/rejection.ts'

const MAX_MESSAGE = 500

/**
 * What a provider's status becomes: 429 PROVIDER_RATE_LIMITED, 408 and 504 PROVIDER_TIMEOUT, other 4xx PROVIDER_REFUSED, everything
 * else PROVIDER_UNAVAILABLE.
 */
export function rejectionForStatus(provider: string, status: number, message: string, retryAfter = ''): Rejection {
  const metadata = {
    provider,
    status: String(status),
    message: shorten(message),
    ...(retryAfter === '' ? {} : { retry_after: retryAfter.slice(0, 64) }),
  }
  if (status === 429) return new Rejection('PROVIDER_RATE_LIMITED', metadata)
  if (status === 408 || status === 504) return new Rejection('PROVIDER_TIMEOUT', metadata)
  return new Rejection(status >= 400 && status < 500 ? 'PROVIDER_REFUSED' : 'PROVIDER_UNAVAILABLE', metadata)
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
