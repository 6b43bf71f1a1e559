import type { JsonObject, JsonValue } from '#shared/json.ts'
import { claimOf, quoteClaim, type Verdict, verdict } from './step.ts'

/** Maximum number of Unicode characters in `sub`, in each `aud` and in each scope. */
export const MAX_CHARACTERS = 512
/** Maximum number of values of `aud`. */
const MAX_AUDIENCES = 64
const MAX_SCOPES = 16

/** The claims that the rules of a policy use. */
export interface RequiredClaims {
  readonly issuer: string
  readonly subject: string
  /** At least one; a single value is a list of one. */
  readonly audience: readonly string[]
}

/**
 * The claims that every subject token must have: `iss`, `sub` and `aud`, of the right types and within their limits.
 * Undefined: one is missing, of the wrong type or too long, or the scopes are too many or too long, whether or not a
 * policy uses them.
 */
export function requiredClaims(claims: JsonObject): RequiredClaims | undefined {
  const read = readRequired(claims)
  return typeof read === 'string' ? undefined : read
}

/** The claims that every token must have, or what is wrong with them, in words that contain nothing of the token. */
function readRequired(claims: JsonObject): RequiredClaims | string {
  const issuer = claimOf(claims, 'iss')
  const subject = claimOf(claims, 'sub')
  const aud = claimOf(claims, 'aud')
  if (typeof issuer !== 'string') return `iss ${issuer === undefined ? 'is missing' : 'is not a string'}`
  if (!isText(subject)) return `sub ${problemOf(subject)}`
  if (subject === '') return 'sub is empty'
  const audience = Array.isArray(aud) ? aud : [aud]
  if (audience.length === 0) return 'aud is empty'
  if (audience.length > MAX_AUDIENCES) return `aud has more than ${MAX_AUDIENCES} values`
  if (!audience.every(isText)) {
    const other = audience.find((value) => !isText(value))
    return `${Array.isArray(aud) ? 'a value of aud' : 'aud'} ${problemOf(other)}`
  }
  const scopes = claimOf(claims, 'scopes')
  if (!Array.isArray(scopes)) return { issuer, subject, audience }
  if (scopes.length > MAX_SCOPES) return `scopes has more than ${MAX_SCOPES} entries`
  const long = scopes.find((scope) => typeof scope === 'string' && !isText(scope))
  return long === undefined ? { issuer, subject, audience } : `an entry of scopes ${problemOf(long)}`
}

/** What is wrong with a value that is not a text. */
function problemOf(value: JsonValue | undefined): string {
  if (value === undefined) return 'is missing'
  return typeof value === 'string' ? `is longer than ${MAX_CHARACTERS} characters` : 'is not a string'
}

/** Whether the claims that every token must have exist and are within their limits. */
export function checkClaims(claims: JsonObject): Verdict {
  const read = readRequired(claims)
  return verdict(typeof read !== 'string', () => [
    EXPECTED,
    typeof read === 'string' ? read : quoteClaim(presentOf(claims)),
  ])
}

const EXPECTED =
  `iss and sub strings, aud a string or 1 to ${MAX_AUDIENCES} strings, at most ${MAX_SCOPES} scopes, ` +
  `sub, each aud and each scope at most ${MAX_CHARACTERS} characters`

/** The claims that are used. */
function presentOf(claims: JsonObject): JsonObject {
  const { iss, sub, aud, scopes } = claims
  const members = Object.entries({ iss, sub, aud, scopes }).filter(([name]) => Object.hasOwn(claims, name))
  return Object.fromEntries(members) as JsonObject
}

/** The scopes of a token: none if it has none; undefined: the claim is not a list of strings. */
export function scopesOf(claims: JsonObject): readonly string[] | undefined {
  const scopes = claimOf(claims, 'scopes') ?? []
  if (claimOf(claims, 'scopes') === null || !Array.isArray(scopes)) return undefined
  return scopes.every((scope) => typeof scope === 'string') ? scopes : undefined
}

/** The token type: empty if the token has none; undefined: the claim is not a string. */
export function tokenTypeOf(claims: JsonObject): string | undefined {
  if (!Object.hasOwn(claims, 'token_type')) return ''
  return typeof claims.token_type === 'string' ? claims.token_type : undefined
}

/** Whether a value is a string that is not too long. */
function isText(value: JsonValue | undefined): value is string {
  if (typeof value !== 'string') return false
  // One character may be two code units: the shorter test decides for all but the longest texts.
  return value.length <= MAX_CHARACTERS || (value.length <= 2 * MAX_CHARACTERS && [...value].length <= MAX_CHARACTERS)
}
