import { hash, sign, verify } from 'node:crypto'
import {
  type AccessToken,
  claimsOf,
  type Grant,
  MAX_TOKEN_LENGTH,
  MAX_TOKEN_SECONDS,
  readClaims,
  type TokenTarget,
} from '#services/identity/domain/access-token.ts'
import { derSignature, plainSignature } from '#services/identity/domain/plain-signature.ts'
import type { Clock } from '#shared/clock.ts'
import { randomText } from '#shared/ids.ts'
import type { KeyRing } from './key-ring.ts'

/** Most tokens whose signature is remembered, some 300 bytes each. */
const MOST_REMEMBERED = 20_000
/** By what the clocks of replicas may differ. */
const SKEW_MS = 60_000
/** A signature of ES256 is 64 bytes, the last of whose characters carries two bits. */
const FORM = /^([\w-]{1,200})\.([\w-]{1,8000})\.([\w-]{85}[AQgw])$/

/** A token that was made. */
export interface MintedToken {
  readonly token: string
  /** Its `jti`. */
  readonly tokenId: string
  /** For how many seconds it is valid, 1 to 900. */
  readonly expiresIn: number
  /** Until when, in milliseconds since the epoch. */
  readonly timeExpires: number
}

export interface AccessTokenOptions {
  readonly ring: KeyRing
  /** The origin that the tokens name as theirs. */
  readonly issuer: string
  readonly clock: Clock
  /** Of how many tokens the signature is remembered; default: 20,000. */
  readonly mostRemembered?: number
}

/** Makes and verifies access tokens. */
export class AccessTokens {
  readonly #ring: KeyRing
  readonly #issuer: string
  readonly #clock: Clock
  readonly #mostRemembered: number
  /** Digest of a token whose signature is right → what it says. Never a key's state, and no token. */
  readonly #remembered = new Map<string, AccessToken>()

  constructor({ ring, issuer, clock, mostRemembered = MOST_REMEMBERED }: AccessTokenOptions) {
    this.#ring = ring
    this.#issuer = issuer
    this.#clock = clock
    this.#mostRemembered = mostRemembered
  }

  /** Of how many tokens the signature is remembered now. */
  get remembered(): number {
    return this.#remembered.size
  }

  /**
   * Makes a token. Undefined: it would live for less than a second, since what was exchanged or the key expires. Throws
   * SIGNING_UNAVAILABLE where this process has no key to sign with.
   */
  async mint(grant: Grant): Promise<MintedToken | undefined> {
    const { header, privateKey } = await this.#ring.signer()
    const tokenId = randomText(24)
    const claims = claimsOf(grant, { issuer: this.#issuer, tokenId, now: this.#clock.now() })
    if (claims === undefined) return undefined
    const signed = `${header}.${Buffer.from(JSON.stringify(claims)).toString('base64url')}`
    const signature = plainSignature(sign('sha256', Buffer.from(signed), privateKey))
    const token = `${signed}.${signature.toString('base64url')}`
    return { token, tokenId, expiresIn: claims.exp - claims.iat, timeExpires: claims.exp * 1_000 }
  }

  /**
   * The key that a token acts as; undefined: the token is none of ours. Whether that key is there and may be used is not looked at.
   */
  async verify(token: string): Promise<TokenTarget | 'expired' | undefined> {
    if (token.length > MAX_TOKEN_LENGTH) return undefined
    const digest = hash('sha256', token, 'binary')
    const known = this.#remembered.get(digest) ?? (await this.#verify(token, digest))
    if (known === undefined) return undefined
    if (this.#isCurrent(known)) return known.target
    return known.expires * 1_000 <= this.#clock.now() ? 'expired' : undefined
  }

  async #verify(token: string, digest: string): Promise<AccessToken | undefined> {
    const [, header = '', payload = '', signature = ''] = FORM.exec(token) ?? []
    if (header === '') return undefined
    const key = await this.#ring.verifier(header)
    if (key === undefined) return undefined
    const signed = Buffer.from(token.slice(0, -signature.length - 1))
    const der = derSignature(Buffer.from(signature, 'base64url'))
    if (der === undefined || !verify('sha256', signed, key, der)) return undefined
    const read = readClaims(JSON.parse(Buffer.from(payload, 'base64url').toString()), this.#issuer)
    if (read !== undefined && this.#isCurrent(read)) this.#remember(digest, read)
    return read
  }

  /** One that lives for longer than any was made while the clock was ahead. */
  #isCurrent({ expires }: AccessToken): boolean {
    const left = expires * 1_000 - this.#clock.now()
    return left > 0 && left <= MAX_TOKEN_SECONDS * 1_000 + SKEW_MS
  }

  /** The one that was remembered first makes room: of tokens that live for as long, it expires first. */
  #remember(digest: string, token: AccessToken): void {
    if (this.#remembered.size >= this.#mostRemembered) {
      const [oldest] = this.#remembered.keys()
      if (oldest !== undefined) this.#remembered.delete(oldest)
    }
    this.#remembered.set(digest, token)
  }
}
