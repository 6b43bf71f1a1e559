import { isObject } from '#shared/json.ts'

/** The key that an access token acts as. */
export interface TokenTarget {
  readonly workspaceId: string
  readonly keyId: string
}

export interface Grant {
  /** `sub` of the exchanged token. */
  readonly subject: string
  /** When the exchanged token expires, in seconds since the epoch; fractions are cut off. */
  readonly subjectExpires: number
  readonly policyId: string
  readonly issuerId: string
  readonly target: TokenTarget
  /** When the target key expires, in milliseconds since the epoch; undefined: never. */
  readonly keyExpires?: number
}

/** The header of an access token; `kid` names the key that signs it. */
export const headerOf = (kid: string) => ({ typ: 'at+jwt', alg: 'ES256', kid }) as const
export type AccessTokenHeader = ReturnType<typeof headerOf>

/** The claims of an access token (RFC 9068, and what the specification adds). Times are seconds since the epoch. */
export interface AccessTokenClaims {
  readonly iss: string
  readonly aud: string
  readonly sub: string
  readonly client_id: string
  readonly exp: number
  readonly iat: number
  readonly jti: string
  readonly scope: 'inference'
  /** For the holder of the token; never read here. */
  readonly federation_policy_id: string
  readonly federation_issuer_id: string
  /** What the token acts as; by the time it is used, the policy may be gone. */
  readonly portico_key: { readonly workspace_id: string; readonly key_id: string }
}

/** The members of an access token that are used. `expires` is in seconds since the epoch. */
export interface AccessToken {
  readonly target: TokenTarget
  readonly expires: number
}

/** Maximum lifetime of an access token, in seconds. */
export const MAX_TOKEN_SECONDS = 900
/**
 * Maximum length of an access token, in characters: a subject of 512 characters, each written as six bytes, leaves room
 * for the rest.
 */
export const MAX_TOKEN_LENGTH = 8_192

/** The audience of tokens of an issuer, which is an origin. */
const audienceOf = (issuer: string): string => `${issuer}/api/v1`

/**
 * When a token issued at `now` (milliseconds since the epoch) expires, in seconds since the epoch: after 15 minutes,
 * but not later than the exchanged token and the key that it acts as. Undefined: that is less than a second away.
 */
export function expiryOf(
  { subjectExpires, keyExpires = Number.POSITIVE_INFINITY }: Pick<Grant, 'subjectExpires' | 'keyExpires'>,
  now: number,
): number | undefined {
  const exp = Math.floor(Math.min(Math.floor(now / 1_000) + MAX_TOKEN_SECONDS, subjectExpires, keyExpires / 1_000))
  // The second that has begun does not count: a token must not expire before its holder can use it.
  return exp * 1_000 - now >= 1_000 ? exp : undefined
}

/**
 * The claims of a token issued at `now` (milliseconds since the epoch). Undefined: it would live for less than a
 * second.
 */
export function claimsOf(
  grant: Grant,
  { issuer, tokenId, now }: { readonly issuer: string; readonly tokenId: string; readonly now: number },
): AccessTokenClaims | undefined {
  const iat = Math.floor(now / 1_000)
  const exp = expiryOf(grant, now)
  if (exp === undefined) return undefined
  return {
    iss: issuer,
    aud: audienceOf(issuer),
    sub: grant.subject,
    client_id: grant.policyId,
    exp,
    iat,
    jti: tokenId,
    scope: 'inference',
    federation_policy_id: grant.policyId,
    federation_issuer_id: grant.issuerId,
    portico_key: { workspace_id: grant.target.workspaceId, key_id: grant.target.keyId },
  }
}

/** Reads the claims of a token that we have signed; undefined: it is for another issuer, or not an access token. */
export function readClaims(claims: unknown, issuer: string): AccessToken | undefined {
  if (!isObject(claims) || claims.iss !== issuer || claims.aud !== audienceOf(issuer)) return undefined
  const { exp, portico_key: key } = claims
  if (typeof exp !== 'number' || !Number.isSafeInteger(exp) || !isObject(key)) return undefined
  const { workspace_id: workspaceId, key_id: keyId } = key
  if (typeof workspaceId !== 'string' || typeof keyId !== 'string') return undefined
  return { target: { workspaceId, keyId }, expires: exp }
}
