import { createPrivateKey, generateKeyPairSync } from 'node:crypto'
import { type AccessTokenHeader, headerOf } from '#services/identity/domain/access-token.ts'
import type { PrivateKey, PublicKey } from '#services/identity/domain/public-key.ts'
import { isAnyDue, keysAfter, nextSigner, type SigningKey, signerAt } from '#services/identity/domain/signing-key.ts'
import type { SigningKeys } from '#services/identity/ports/signing-keys.ts'
import type { Clock } from '#shared/clock.ts'
import { randomId } from '#shared/ids.ts'
import { Rejection } from '#shared/rejection.ts'
import { SharedReads } from '#shared/shared-reads.ts'
import type { Logger } from '#shared/telemetry/logging.ts'
import type { KeySeal } from './key-seal.ts'

/**
 * How old known keys may be, in milliseconds, before they are read again; keys are published much longer before they
 * are used.
 */
const FRESH_MS = 30_000

const NO_KEY = 'PORTICO_KEY_ENCRYPTION_KEY is not set: no access tokens are issued'

export interface Signer {
  readonly header: AccessTokenHeader
  readonly privateKey: PrivateKey
}

interface HeldKey extends SigningKey {
  /** The public half, which verifies. */
  readonly publicKey: PublicKey
  privateKey?: PrivateKey | undefined
}

export interface KeyRingOptions {
  readonly store: SigningKeys
  /** Undefined: no encryption key was given, so that this process neither creates nor uses signing keys. */
  readonly seal: KeySeal | undefined
  readonly clock: Clock
  readonly logger: Logger
}

/**
 * The signing keys as this process knows them. Using them triggers another read once they are half a minute old, and
 * creates the next key, for all processes, when that is due; nothing happens while nobody uses them. Private keys leave
 * it only as keys that cannot be exported.
 */
export class KeyRing {
  readonly #options: KeyRingOptions
  readonly #refreshes = new SharedReads<void>()
  #held: ReadonlyMap<string, HeldKey> = new Map()
  #readAt = Number.NEGATIVE_INFINITY

  private constructor(options: KeyRingOptions) {
    this.#options = options
  }

  /**
   * Creates the first key if there is none, and encrypts anew what was not encrypted with the first of the given keys.
   * Throws a ConfigError if none of them decrypts what is stored.
   */
  static async open(options: KeyRingOptions): Promise<KeyRing> {
    const ring = new KeyRing(options)
    const { store, seal, logger } = options
    if (seal !== undefined) {
      const keys = await store.list()
      requireOpen(keys, seal)
      if (sealedAnew(keys, seal) !== undefined) await store.revise((now) => sealedAnew(now, seal))
    }
    await ring.#refresh()
    // Several processes may have created a first key at once, of which one was stored.
    if (seal !== undefined) requireOpen([...ring.#held.values()], seal)
    else logger.warn(NO_KEY)
    return ring
  }

  /** The key that signs now. Throws SIGNING_UNAVAILABLE if there is none that this process can use. */
  async signer(): Promise<Signer> {
    const { clock, seal, logger } = this.#options
    if (clock.monotonic() - this.#readAt >= FRESH_MS) await this.#reread()
    const key = signerAt([...this.#held.values()], clock.now())
    if (seal === undefined) logger.error(NO_KEY)
    if (key === undefined || seal === undefined) throw new Rejection('SIGNING_UNAVAILABLE')
    key.privateKey ??= privateKeyOf(key, seal)
    const { kid, privateKey } = key
    if (privateKey === undefined) {
      logger.error({ kid }, 'The signing key was encrypted with another PORTICO_KEY_ENCRYPTION_KEY')
      throw new Rejection('SIGNING_UNAVAILABLE')
    }
    return { header: headerOf(kid), privateKey }
  }

  /**
   * The key that verifies tokens with this first part, which must be, byte by byte, the header that one of our keys
   * writes; undefined: no key of ours signs such tokens.
   */
  async verifier(header: string): Promise<PublicKey | undefined> {
    const token = this.#held.get(header)
    if (token !== undefined || !isOurHeader(header)) return token?.publicKey
    await this.#reread()
    return this.#held.get(header)?.publicKey
  }

  /** All keys to be published: those in use or whose tokens may still be valid, and the next one. */
  async published(): Promise<readonly SigningKey[]> {
    await this.#reread()
    return [...this.#held.values()]
  }

  /**
   * Creates the next key, unless there is one already, and returns it. It is published from now on, and signs later.
   */
  async rotate(): Promise<SigningKey> {
    const { clock } = this.#options
    await this.#revise(true)
    const now = clock.now()
    const keys = [...this.#held.values()]
    const next = nextSigner(keys, now) ?? signerAt(keys, now)
    if (next === undefined) throw new Rejection('SIGNING_UNAVAILABLE')
    return next
  }

  #reread(): Promise<void> {
    return this.#refreshes.read('keys', () => this.#refresh())
  }

  async #refresh(): Promise<void> {
    const { store, seal, clock } = this.#options
    const start = clock.monotonic()
    const keys = await store.list()
    if (seal !== undefined && isAnyDue(keys, clock.now())) await this.#revise(false)
    else this.#hold(keys, start)
  }

  async #revise(isWanted: boolean): Promise<void> {
    const { store, seal, clock } = this.#options
    if (seal === undefined) throw new Rejection('SIGNING_UNAVAILABLE')
    const start = clock.monotonic()
    const candidate = makeSigningKey(seal)
    this.#hold(await store.revise((keys) => keysAfter(keys, candidate, { now: clock.now(), wanted: isWanted })), start)
  }

  #hold(keys: readonly SigningKey[], readAt: number): void {
    // Of two reads the later one counts, whichever ends first.
    if (readAt < this.#readAt) return
    const before = this.#held
    this.#held = new Map(
      keys.map((key) => {
        const header = headerTextOf(key.kid)
        const { publicKey = { kty: 'EC', crv: 'P-256', x: key.x, y: key.y }, privateKey } = before.get(header) ?? {}
        // The encryption keys may have changed, so that it can be decrypted now.
        return [header, { ...key, publicKey, privateKey }]
      }),
    )
    this.#readAt = readAt
  }
}

function requireOpen(keys: readonly SigningKey[], seal: KeySeal): void {
  if (keys.some(({ kid, sealed }) => seal.open(kid, sealed) === undefined)) throw seal.wrong()
}

function sealedAnew(keys: readonly SigningKey[], seal: KeySeal): readonly SigningKey[] | undefined {
  const opened = keys.map(({ kid, sealed }) => seal.open(kid, sealed))
  // A key that a process with another encryption key has created meanwhile is left unchanged, and checked afterwards.
  if (opened.every((one) => one?.isCurrent !== false)) return undefined
  return keys.map((key, index) => {
    const one = opened[index]
    return one?.isCurrent === false ? { ...key, sealed: seal.seal(key.kid, one.bytes) } : key
  })
}

/** The first part of all tokens that a key signs; a token with another first part is not signed by that key. */
function headerTextOf(kid: string): string {
  return Buffer.from(JSON.stringify(headerOf(kid))).toString('base64url')
}

const SAMPLE = headerTextOf(`sig_${'0'.repeat(24)}`)
const PREFIX = Buffer.from('{"typ":"at+jwt","alg":"ES256","kid":"sig_').toString('base64url').slice(0, -2)

/**
 * Whether it may be the first part of tokens signed by a key of another process; for anything else, the store is not
 * read.
 */
function isOurHeader(header: string): boolean {
  return header.length === SAMPLE.length && header.startsWith(PREFIX)
}

/** Creates a key; its private half exists only in encrypted form. */
function makeSigningKey(seal: KeySeal): Pick<SigningKey, 'kid' | 'x' | 'y' | 'sealed'> {
  const kid = randomId('sig')
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const { x = '', y = '' } = publicKey.export({ format: 'jwk' })
  return { kid, x, y, sealed: seal.seal(kid, privateKey.export({ format: 'der', type: 'pkcs8' })) }
}

/** The private half, which signs and cannot be exported; undefined: it is encrypted with another key. */
function privateKeyOf({ kid, sealed }: Pick<SigningKey, 'kid' | 'sealed'>, seal: KeySeal): PrivateKey | undefined {
  const opened = seal.open(kid, sealed)
  if (opened === undefined) return undefined
  const key = createPrivateKey({ key: opened.bytes, format: 'der', type: 'pkcs8' })
  return key.toCryptoKey({ name: 'ECDSA', namedCurve: 'P-256' }, false, ['sign'])
}
