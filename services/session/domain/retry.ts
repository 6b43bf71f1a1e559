const FIRST_MS = 2_000
const MAX_RETRIES = 4
const LONGEST_MS = 300_000
const RETRYABLE = new Set(['PROVIDER_RATE_LIMITED', 'PROVIDER_UNAVAILABLE', 'PROVIDER_TIMEOUT', 'PEER_UNAVAILABLE'])

/** A provider call that failed. */
export interface FailedCall {
  /** Undefined: the failure names none. */
  readonly reason: string | undefined
  /** The provider's wish: seconds, or a date. */
  readonly retryAfter: string | undefined
}

/**
 * How long to wait before repetition `attempt` (from 1) of a failed provider call, in milliseconds; undefined: it is not
 * repeated. Rate limits, unavailable providers, timeouts and failures without a reason are repeated four times: after
 * about 2, 4, 8, 16 seconds (a quarter more or less by chance, so that sessions do not come back together), or after what
 * the provider asks for, up to five minutes.
 */
export function retryDelay(
  { reason, retryAfter }: FailedCall,
  attempt: number,
  now: number,
  random: () => number,
): number | undefined {
  if (attempt > MAX_RETRIES || (reason !== undefined && !RETRYABLE.has(reason))) return undefined
  const delay = FIRST_MS * 2 ** (attempt - 1) * (0.75 + random() / 2)
  const wish = retryAfter === undefined ? undefined : parseRetryAfter(retryAfter, now)
  if (wish !== undefined && wish > LONGEST_MS) return undefined
  return Math.round(Math.max(delay, wish ?? 0))
}

/** RFC 9110 section 10.2.3. */
function parseRetryAfter(text: string, now: number): number | undefined {
  if (/^\d{1,9}(\.\d+)?$/.test(text)) return Number(text) * 1_000
  const date = Date.parse(text)
  return Number.isNaN(date) ? undefined : Math.max(0, date - now)
}
