/** A key that signs access tokens, as it is stored. Times are milliseconds since the epoch. */
export interface SigningKey {
  /** Identifies the key in tokens and in the key set. */
  readonly kid: string
  /** Coordinates of the public point on P-256, in base64url. */
  readonly x: string
  readonly y: string
  /** The private half, encrypted. */
  readonly sealed: Uint8Array
  readonly timeCreated: number
  /** From then on it signs, until the next one does. */
  readonly timeUsed: number
}

/** Whether a text is a key for encrypting signing keys: 32 bytes in base64. */
export function isEncryptionKey(text: string): boolean {
  return /^[A-Za-z0-9+/]{42}[AEIMQUYcgkosw048]=$/.test(text)
}

/** How long anybody may cache the published keys, in milliseconds. */
export const KEY_SET_MAX_AGE_MS = 300_000
/**
 * How long a key is published before it signs: long enough for every cached copy of the key set to be renewed, even if
 * the clock of its holder, or of a replica of Portico, is minutes behind.
 */
const PUBLISHED_AHEAD_MS = 3 * KEY_SET_MAX_AGE_MS
/**
 * How long a key is published after the next one has begun to sign: twice the lifetime of its last token (15 minutes),
 * for replicas that learn late that they must not use it any more.
 */
const KEPT_MS = 1_800_000
/** A key is replaced after this time. */
const PERIOD_MS = 30 * 86_400_000

/**
 * The key that signs at a moment. If the clock is behind the first key's time, that key signs. Undefined: there is
 * none.
 */
export function signerAt<K extends Pick<SigningKey, 'timeUsed'>>(keys: readonly K[], now: number): K | undefined {
  const inOrder = keys.toSorted((one, two) => one.timeUsed - two.timeUsed)
  return inOrder.findLast((key) => key.timeUsed <= now) ?? inOrder[0]
}

/** The key that is published but does not sign yet; undefined: there is none. */
export function nextSigner(keys: readonly SigningKey[], now: number): SigningKey | undefined {
  const signer = signerAt(keys, now)
  return keys.find((key) => key !== signer && key.timeUsed > now)
}

/**
 * The keys after everything that is due at a moment. If the signer has served for 30 days, or a new key is `wanted`
 * now, `candidate` becomes the next key, unless there is a next one already. Keys whose last token has expired are
 * removed. The very first key signs at once. Undefined: nothing is due.
 */
export function keysAfter(
  keys: readonly SigningKey[],
  candidate: Pick<SigningKey, 'kid' | 'x' | 'y' | 'sealed'>,
  { now, wanted = false }: { readonly now: number; readonly wanted?: boolean },
): readonly SigningKey[] | undefined {
  const rest = keys.filter((key) => !isOver(key, keys, now))
  if (keys.length === 0) return [{ ...candidate, timeCreated: now, timeUsed: now }]
  if (wanted ? nextSigner(keys, now) === undefined : isNextDue(keys, now)) {
    return [...rest, { ...candidate, timeCreated: now, timeUsed: now + PUBLISHED_AHEAD_MS }]
  }
  return rest.length === keys.length ? undefined : rest
}

/** Whether `keysAfter` would change anything. */
export function isAnyDue(keys: readonly SigningKey[], now: number): boolean {
  return keys.length === 0 || isNextDue(keys, now) || keys.some((key) => isOver(key, keys, now))
}

function isNextDue(keys: readonly SigningKey[], now: number): boolean {
  const newest = Math.max(...keys.map((key) => key.timeUsed))
  return newest + PERIOD_MS - PUBLISHED_AHEAD_MS <= now
}

function isOver(key: SigningKey, keys: readonly SigningKey[], now: number): boolean {
  return keys.some((other) => other.timeUsed > key.timeUsed && other.timeUsed + KEPT_MS <= now)
}
