import type { PolicySettings } from '#gen/portico/identity/v1/federation_pb.js'
import type { JsonObject, JsonValue } from '#shared/json.ts'
import { expiryOf } from '../access-token.ts'
import { requiredClaims, scopesOf } from './claims.ts'
import { claimOf, quoteClaim, SKIPPED, type Verdict, verdict } from './step.ts'

type Rules<N extends keyof PolicySettings> = Pick<PolicySettings, N>

/**
 * Whether a token comes from an issuer (undefined if it was deleted): its text must be identical, and never our own
 * origin, since our access tokens must not be exchanged for further ones.
 */
export function checkIssuer(claims: JsonObject, issuerUrl: string | undefined, ownIssuer: string): Verdict {
  if (issuerUrl === undefined) return verdict(false, () => ['an issuer that is not deleted', 'deleted'])
  const claim = claimOf(claims, 'iss')
  return verdict(claim === issuerUrl && claim !== ownIssuer, () => [JSON.stringify(issuerUrl), quoteClaim(claim)])
}

/** Whether `sub` is the one in a policy. */
export function checkSubject(claims: JsonObject, { subject }: Rules<'subject'>): Verdict {
  if (subject === undefined) return SKIPPED
  const claim = claimOf(claims, 'sub')
  return verdict(claim === subject, () => [JSON.stringify(subject), quoteClaim(claim)])
}

/** Whether one value of `aud` is the one in a policy. */
export function checkAudience(claims: JsonObject, { audience }: Rules<'audience'>): Verdict {
  const passes = requiredClaims(claims)?.audience.includes(audience) ?? false
  return verdict(passes, () => [JSON.stringify(audience), quoteClaim(claimOf(claims, 'aud'))])
}

/** Whether `scopes` is a list of strings that contains the one in a policy. A `scope` of words is something else. */
export function checkScopes(claims: JsonObject, { checks }: Rules<'checks'>): Verdict {
  const scope = checks?.scope
  if (scope === undefined) return SKIPPED
  const passes = scopesOf(claims)?.includes(scope) ?? false
  return verdict(passes, () => [`a list with ${JSON.stringify(scope)}`, quoteClaim(claimOf(claims, 'scopes'))])
}

/** Whether `token_type`, the claim and not the header, is the one in a policy. */
export function checkTokenType(claims: JsonObject, { checks }: Rules<'checks'>): Verdict {
  const tokenType = checks?.tokenType
  if (tokenType === undefined) return SKIPPED
  const claim = claimOf(claims, 'token_type')
  return verdict(claim === tokenType, () => [JSON.stringify(tokenType), quoteClaim(claim)])
}

/**
 * Whether a single-use token has a `jti` by which it can be remembered; whether it was used already is not known here.
 */
export function checkSingleUse(claims: JsonObject, singleUse: boolean): Verdict {
  if (!singleUse) return SKIPPED
  const claim = claimOf(claims, 'jti')
  return verdict(typeof claim === 'string' && claim !== '', () => [
    'a jti; whether it was exchanged before is found out by exchanging it',
    quoteClaim(claim),
  ])
}

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
    return [expected, quoteClaim({ exp, iat, nbf } as JsonObject)]
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
