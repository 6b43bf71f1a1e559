import type { JsonObject } from '#shared/json.ts'
import type { SignatureAlgorithm } from '../public-key.ts'
import { claimOf, shown, type Verdict, verdict } from './step.ts'

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
  const algorithm = ALGORITHMS.find((known) => known === alg)
  const extended = Object.hasOwn(header, 'crit') || Object.hasOwn(header, 'b64')
  if (algorithm === undefined || extended) return undefined
  return kid === undefined || typeof kid === 'string' ? { algorithm, kid } : undefined
}

/** Whether a header can be used. */
export function checkHeader(header: JsonObject): Verdict {
  return verdict(keyChoiceOf(header) !== undefined, () => [EXPECTED, shown(header)])
}
