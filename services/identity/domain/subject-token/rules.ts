import type { PolicySettings } from '#gen/portico/identity/v1/federation_pb.js'
import type { JsonObject } from '#shared/json.ts'
import { requiredClaims, scopesOf } from './claims.ts'
import { claimOf, SKIPPED, shown, type Verdict, verdict } from './step.ts'

/** What a policy requires. */
type Rules<N extends keyof PolicySettings> = Pick<PolicySettings, N>

/**
 * Whether a token comes from an issuer (undefined if it was deleted): its text must be identical, and never our own
 * origin, since our access tokens must not be exchanged for further ones.
 */
export function checkIssuer(claims: JsonObject, issuerUrl: string | undefined, ownIssuer: string): Verdict {
  if (issuerUrl === undefined) return verdict(false, () => ['an issuer that is not deleted', 'deleted'])
  const found = claimOf(claims, 'iss')
  return verdict(found === issuerUrl && found !== ownIssuer, () => [JSON.stringify(issuerUrl), shown(found)])
}

/** Whether `sub` is the one in a policy. */
export function checkSubject(claims: JsonObject, { subject }: Rules<'subject'>): Verdict {
  if (subject === undefined) return SKIPPED
  const found = claimOf(claims, 'sub')
  return verdict(found === subject, () => [JSON.stringify(subject), shown(found)])
}

/** Whether one value of `aud` is the one in a policy. */
export function checkAudience(claims: JsonObject, { audience }: Rules<'audience'>): Verdict {
  const passes = requiredClaims(claims)?.audience.includes(audience) ?? false
  return verdict(passes, () => [JSON.stringify(audience), shown(claimOf(claims, 'aud'))])
}

/** Whether `scopes` is a list of strings that contains the one in a policy. A `scope` of words is something else. */
export function checkScopes(claims: JsonObject, { checks }: Rules<'checks'>): Verdict {
  const scope = checks?.scope
  if (scope === undefined) return SKIPPED
  const passes = scopesOf(claims)?.includes(scope) ?? false
  return verdict(passes, () => [`a list with ${JSON.stringify(scope)}`, shown(claimOf(claims, 'scopes'))])
}

/** Whether `token_type`, the claim and not the header, is the one in a policy. */
export function checkTokenType(claims: JsonObject, { checks }: Rules<'checks'>): Verdict {
  const tokenType = checks?.tokenType
  if (tokenType === undefined) return SKIPPED
  const found = claimOf(claims, 'token_type')
  return verdict(found === tokenType, () => [JSON.stringify(tokenType), shown(found)])
}

/**
 * Whether a single-use token has a `jti` by which it can be remembered; whether it was used already is not known here.
 */
export function checkSingleUse(claims: JsonObject, singleUse: boolean): Verdict {
  if (!singleUse) return SKIPPED
  const found = claimOf(claims, 'jti')
  return verdict(typeof found === 'string' && found !== '', () => [
    'a jti; whether it was exchanged before is found out by exchanging it',
    shown(found),
  ])
}
