import type { JsonObject } from '#shared/json.ts'
import type { SignatureAlgorithm } from '../public-key.ts'
import { claimOf, quoteClaim, type Verdict, verdict } from './step.ts'
import { readStrictJson } from './strict-json.ts'

/** A parsed subject token. Nothing of it is verified yet. */
export interface SubjectToken {
  /** As it was sent. */
  readonly compact: string
  readonly header: JsonObject
  readonly claims: JsonObject
}

/** A token, or why a text is not one; `problem` completes a sentence that begins with the text. */
export type TokenRead = { readonly token: SubjectToken } | { readonly problem: string }

/**
 * Parses a JWT in compact form: three parts of base64url, of which header and payload are JSON objects. Each part must
 * have its canonical encoding (no padding, no space, no line break, no stray bits in the last character), so that each
 * token has only one text. An unsecured token has an empty signature (RFC 7519 section 6).
 */
export function readSubjectToken(compact: string): TokenRead {
  const parts = compact.split('.', 4)
  const [header, payload, signature] = parts.map(decodeBase64url)
  if (parts.length !== 3 || !header?.length || !payload?.length || signature === undefined) {
    return { problem: 'is not three parts of base64url' }
  }
  const readHeader = readStrictJson(header)
  if ('problem' in readHeader) return { problem: `has a header that ${readHeader.problem}` }
  const readClaims = readStrictJson(payload)
  if ('problem' in readClaims) return { problem: `has a payload that ${readClaims.problem}` }
  return { token: { compact, header: readHeader.value, claims: readClaims.value } }
}

function decodeBase64url(part: string): Buffer | undefined {
  const bytes = Buffer.from(part, 'base64url')
  return bytes.toString('base64url') === part ? bytes : undefined
}

const ALGORITHMS: readonly SignatureAlgorithm[] = ['ES256', 'RS256']
const EXPECTED = `alg ${ALGORITHMS.join(' or ')}, kid a string or absent, neither crit nor b64`

/** What selects the keys that may have signed a token. `kid` undefined: the token names none. */
export interface KeyChoice {
  readonly algorithm: SignatureAlgorithm
  readonly kid: string | undefined
}

/**
 * What a header says about the key; undefined: it cannot be used. Extensions (`crit`, `b64`) are refused; members that
 * would bring a key or an address along (`jwk`, `jku`, `x5c`, `x5u`) are ignored, and so is `typ`.
 */
export function keyChoiceOf(header: JsonObject): KeyChoice | undefined {
  const alg = claimOf(header, 'alg')
  const kid = claimOf(header, 'kid')
  const algorithm = ALGORITHMS.find((name) => name === alg)
  const extended = Object.hasOwn(header, 'crit') || Object.hasOwn(header, 'b64')
  if (algorithm === undefined || extended) return undefined
  return kid === undefined || typeof kid === 'string' ? { algorithm, kid } : undefined
}

export function checkHeader(header: JsonObject): Verdict {
  return verdict(keyChoiceOf(header) !== undefined, () => [EXPECTED, quoteClaim(header)])
}
