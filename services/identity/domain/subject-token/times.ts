import type { JsonObject, JsonValue } from '#shared/json.ts'
import { expiryOf } from '../access-token.ts'
import { claimOf, SKIPPED, shown, type Verdict, verdict } from './step.ts'

/**
 * How far `nbf` and `iat` may be in the future, in seconds, since issuers' clocks may be fast. `exp` has no tolerance.
 */
const SKEW = 60
/** No time in a token is later, in seconds: about the year 36800. So milliseconds cannot be mistaken for seconds. */
const END_OF_TIME = 2 ** 40

/** The times in a token, in seconds since the epoch; fractions count. */
export interface TokenTimes {
  readonly expires: number
  readonly issued: number | undefined
  readonly notBefore: number | undefined
}

/** The times in a token; undefined if `exp` is missing, one is meaningless, or it was issued after it expired. */
export function timesOf(claims: JsonObject): TokenTimes | undefined {
  const exp = claimOf(claims, 'exp')
  const iat = claimOf(claims, 'iat')
  const nbf = claimOf(claims, 'nbf')
  if (!isTime(exp) || !isOptionalTime(iat) || !isOptionalTime(nbf)) return undefined
  return iat === undefined || iat <= exp ? { expires: exp, issued: iat, notBefore: nbf } : undefined
}

/**
 * Whether a token is valid at a time, in milliseconds since the epoch. With a maximum age (in seconds), it must have an
 * `iat`.
 */
export function checkExpiry(claims: JsonObject, now: number, maxAgeSeconds: number | undefined): Verdict {
  const times = timesOf(claims)
  const passes = times !== undefined && isCurrent(times, now / 1000, maxAgeSeconds)
  return verdict(passes, () => {
    const { exp, iat, nbf } = claims
    const age = maxAgeSeconds === undefined ? '' : `, iat not before ${Math.floor(now / 1000) - maxAgeSeconds}`
    const expected = `exp after ${Math.floor(now / 1000)}, nbf and iat not after ${Math.floor(now / 1000) + SKEW}${age}`
    return [expected, shown({ exp, iat, nbf } as JsonObject)]
  })
}

/**
 * Whether an access token would live long enough to be useful. `keyExpires` (undefined: never) and `now` are
 * milliseconds since the epoch.
 */
export function checkLifetime(claims: JsonObject, keyExpires: number | undefined, now: number): Verdict {
  const times = timesOf(claims)
  if (times === undefined) return SKIPPED
  const expires = expiryOf({ subjectExpires: times.expires, keyExpires }, now)
  return verdict(expires !== undefined, () => [
    'at least 1 second left of the token and of the key',
    expires === undefined ? 'less than 1 second' : `${Math.floor(expires - now / 1000)} seconds`,
  ])
}

function isCurrent({ expires, issued, notBefore }: TokenTimes, now: number, maxAge: number | undefined): boolean {
  if (expires <= now || (notBefore ?? 0) > now + SKEW || (issued ?? 0) > now + SKEW) return false
  return maxAge === undefined || (issued !== undefined && issued >= now - maxAge)
}

function isTime(value: JsonValue | undefined): value is number {
  return typeof value === 'number' && value >= 0 && value < END_OF_TIME
}

function isOptionalTime(value: JsonValue | undefined): value is number | undefined {
  return value === undefined || isTime(value)
}
