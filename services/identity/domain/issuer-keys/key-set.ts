import { isObject } from '#shared/json.ts'
import type { PublicKey, SignatureAlgorithm } from '../public-key.ts'
import { type IssuerKey, readKey } from './read-key.ts'

/** An issuer's keys that may verify subject tokens. */
export interface KeySet {
  readonly keys: readonly IssuerKey[]
  /** Why other keys of the set are not used: one line for people for each of the first few. */
  readonly unusable: readonly string[]
}

/** Why something is not a key set; completes a sentence that begins with its name. */
export interface KeySetProblem {
  readonly problem: string
}

const MOST_KEYS = 100
const MOST_CANDIDATES = 4
const MOST_REASONS = 5

/**
 * Reads a parsed JWK set (RFC 7517 section 5). A bad key does not spoil the others. A set without a usable key is still
 * a set: its issuer signs nothing. Anything else than a set has no meaning.
 */
export function readKeySet(value: unknown): KeySet | KeySetProblem {
  const members = isObject(value) ? value.keys : undefined
  if (!Array.isArray(members)) return { problem: 'has no list of keys' }
  if (members.length > MOST_KEYS) return { problem: `has ${members.length} keys, more than ${MOST_KEYS}` }
  if (!members.every(isObject)) return { problem: 'has keys that are not objects' }
  const read = members.map(readKey)
  const unusable = read.flatMap((one, index) => ('unusable' in one ? [`key ${index + 1}: ${one.unusable}`] : []))
  return {
    keys: read.filter((one) => 'key' in one),
    unusable: unusable.slice(0, MOST_REASONS),
  }
}

export function readInlineKeySet(text: string): KeySet | KeySetProblem {
  try {
    return readKeySet(JSON.parse(text))
  } catch {
    return { problem: 'is not JSON' }
  }
}

/**
 * Why a text cannot be saved as an issuer's key set, without any value of the text. Undefined: it can. It is stricter
 * than for a published set: at least one key must be usable, and none may be private, since every admin sees it.
 */
export function inlineKeySetProblem(text: string): string | undefined {
  const set = readInlineKeySet(text)
  if ('problem' in set) return set.problem
  const { keys } = JSON.parse(text) as { keys: readonly Record<string, unknown>[] }
  const leaked = keys.map(readKey).findIndex((one) => 'unusable' in one && one.isPrivate)
  if (leaked >= 0) return `has a private or symmetric key (key ${leaked + 1}): such a key must stay private`
  if (set.keys.length === 0) return ['has no key that can be used', ...set.unusable].join('; ')
  return undefined
}

/** What the header of a token says about its key. */
interface Hint {
  readonly algorithm: SignatureAlgorithm
  readonly kid: string | undefined
}

/**
 * The keys to try for a token, at most 4: those that it names or, if it names none, the only one that fits its
 * algorithm. None if several fit.
 */
export function candidatesOf({ keys }: KeySet, { algorithm, kid }: Hint): readonly PublicKey[] {
  const fitting = keys.filter((key) => key.algorithm === algorithm && (kid === undefined || key.kid === kid))
  if (kid === undefined && fitting.length > 1) return []
  return fitting.slice(0, MOST_CANDIDATES).map(({ key }) => key)
}

/** Whether the token names, or needs, a key that the set lacks, so that a later set may help. */
export function lacks({ keys }: KeySet, { algorithm, kid }: Hint): boolean {
  return !keys.some((key) => key.algorithm === algorithm && (kid === undefined || key.kid === kid))
}
