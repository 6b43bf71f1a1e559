const FIRST_MS = 2_000
const MAX_RETRIES = 4
const LONGEST_MS = 300_000
const RETRYABLE = new Set(['RATE_LIMITED', 'PROVIDER_RATE_LIMITED', 'PROVIDER_UNAVAILABLE', 'PROVIDER_TIMEOUT'])

const AWAY = new Set(['PEER_UNAVAILABLE', 'STORE_UNAVAILABLE', 'SERVICE_CLOSING', 'SECRET_REFUSED'])
const AWAY_FIRST_MS = 500
const AWAY_LONGEST_MS = 5_000
const AWAY_RETRIES = 16

export interface FailedCall {
  /** Undefined: the failure names none. */
  readonly reason: string | undefined
  /** The provider's `Retry-After`: seconds, or a date. */
  readonly retryAfter: string | undefined
}

/**
 * How long to wait before repetition `attempt` (from 1) of a failed provider call, in milliseconds; undefined: it is
 * not repeated. Rate limits, unavailable providers, timeouts and failures without a reason are repeated four times:
 * after about 2, 4, 8, 16 seconds (a quarter more or less by chance, so that sessions do not come back together), or
 * after what the provider says to wait, up to five minutes.
 */
export function retryDelay(
  { reason, retryAfter }: FailedCall,
  attempt: number,
  now: number,
  random: () => number,
): number | undefined {
  if (attempt > MAX_RETRIES || (reason !== undefined && !RETRYABLE.has(reason))) return undefined
  const delay = FIRST_MS * 2 ** (attempt - 1) * (0.75 + random() / 2)
  const wait = retryAfter === undefined ? undefined : parseRetryAfter(retryAfter, now)
  if (wait !== undefined && wait > LONGEST_MS) return undefined
  return Math.round(Math.max(delay, wait ?? 0))
}

/** RFC 9110 section 10.2.3. */
function parseRetryAfter(text: string, now: number): number | undefined {
  if (/^\d{1,9}(\.\d+)?$/.test(text)) return Number(text) * 1_000
  const date = Date.parse(text)
  return Number.isNaN(date) ? undefined : Math.max(0, date - now)
}

/** Whether a reason means that a service of ours, or its store, is currently unreachable. */
export function isAway(reason: string | undefined): boolean {
  return reason !== undefined && AWAY.has(reason)
}

/**
 * How long to wait before repetition `attempt` (from 1) of a call to a service that is away, in milliseconds;
 * undefined: it has been away for too long. Half a second at first, 5 s in the end, a quarter more or less by chance:
 * all together about a minute, never less than 50 s.
 */
export function absenceDelay(attempt: number, random: () => number): number | undefined {
  if (attempt > AWAY_RETRIES) return undefined
  return Math.round(Math.min(AWAY_FIRST_MS * 2 ** (attempt - 1), AWAY_LONGEST_MS) * (0.75 + random() / 2))
}
