import { hash } from 'node:crypto'
import {
  type AccessToken,
  claimsOf,
  type Grant,
  MAX_TOKEN_LENGTH,
  MAX_TOKEN_SECONDS,
  readClaims,
  type TokenTarget,
} from '#services/identity/domain/access-token.ts'
import type { TokenSignatures } from '#services/identity/ports/token-signatures.ts'
import type { Clock } from '#shared/clock.ts'
import { randomText } from '#shared/ids.ts'
import type { KeyRing } from './key-ring.ts'

/** Maximum number of tokens whose verified signature is remembered, at about 300 bytes each. */
const MOST_REMEMBERED = 20_000
/** How much the clocks of replicas may differ. */
const SKEW_MS = 60_000
/** An ES256 signature is 64 bytes, so the last character carries two bits. */
const FORM = /^([\w-]{1,200})\.([\w-]{1,8000})\.[\w-]{85}[AQgw]$/

export interface MintedToken {
  readonly token: string
  /** Its `jti`. */
  readonly tokenId: string
  /** Its lifetime in seconds, 1 to 900. */
  readonly expiresIn: number
  /** When it expires, in milliseconds since the epoch. */
  readonly timeExpires: number
}

export interface AccessTokenOptions {
  readonly ring: KeyRing
  readonly signatures: TokenSignatures
  /** The origin that the tokens name as their issuer. */
  readonly issuer: string
  readonly clock: Clock
  /** How many verified signatures are remembered; default: 20,000. */
  readonly mostRemembered?: number
}

/** Issues and verifies access tokens. */
export class AccessTokens {
  readonly #ring: KeyRing
  readonly #signatures: TokenSignatures
  readonly #issuer: string
  readonly #clock: Clock
  readonly #mostRemembered: number
  /** Digest of a token with a valid signature → its content. Never the state of a key, nor the token itself. */
  readonly #remembered = new Map<string, AccessToken>()

  constructor({ ring, signatures, issuer, clock, mostRemembered = MOST_REMEMBERED }: AccessTokenOptions) {
    this.#ring = ring
    this.#signatures = signatures
    this.#issuer = issuer
    this.#clock = clock
    this.#mostRemembered = mostRemembered
  }

  /** How many verified signatures are remembered now. */
  get remembered(): number {
    return this.#remembered.size
  }

  /**
   * Issues a token. Undefined: it would live for less than a second, because the exchanged token or the key expires.
   * Throws SIGNING_UNAVAILABLE if this process has no key to sign with.
   */
  async mint(grant: Grant): Promise<MintedToken | undefined> {
    const { header, privateKey } = await this.#ring.signer()
    const tokenId = randomText(24)
    const claims = claimsOf(grant, { issuer: this.#issuer, tokenId, now: this.#clock.now() })
    if (claims === undefined) return undefined
    const token = await this.#signatures.sign(header, claims, privateKey)
    return { token, tokenId, expiresIn: claims.exp - claims.iat, timeExpires: claims.exp * 1_000 }
  }

  /**
   * The key that a token acts as; undefined: the token is not ours. It does not check whether that key exists and may
   * be used.
   */
  async verify(token: string): Promise<TokenTarget | 'expired' | undefined> {
    if (token.length > MAX_TOKEN_LENGTH) return undefined
    const digest = hash('sha256', token, 'binary')
    const accessToken = this.#remembered.get(digest) ?? (await this.#verify(token, digest))
    if (accessToken === undefined) return undefined
    if (this.#isCurrent(accessToken)) return accessToken.target
    return accessToken.expires * 1_000 <= this.#clock.now() ? 'expired' : undefined
  }

  async #verify(token: string, digest: string): Promise<AccessToken | undefined> {
    const [, header = '', payload = ''] = FORM.exec(token) ?? []
    if (header === '') return undefined
    const key = await this.#ring.verifier(header)
    if (key === undefined || !(await this.#signatures.verify(token, 'ES256', [key]))) return undefined
    const read = readClaims(JSON.parse(Buffer.from(payload, 'base64url').toString()), this.#issuer)
    if (read !== undefined && this.#isCurrent(read)) this.#remember(digest, read)
    return read
  }

  /** A token that lives longer than a new one was issued while the clock was ahead. */
  #isCurrent({ expires }: AccessToken): boolean {
    const left = expires * 1_000 - this.#clock.now()
    return left > 0 && left <= MAX_TOKEN_SECONDS * 1_000 + SKEW_MS
  }

  /** The oldest is dropped: of tokens with the same lifetime, it expires first. */
  #remember(digest: string, token: AccessToken): void {
    if (this.#remembered.size >= this.#mostRemembered) {
      const [oldest] = this.#remembered.keys()
      if (oldest !== undefined) this.#remembered.delete(oldest)
    }
    this.#remembered.set(digest, token)
  }
}
