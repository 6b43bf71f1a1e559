import { type CryptoKey, compactVerify, importJWK } from 'jose'
import type { PublicKey, SignatureAlgorithm } from '#services/identity/domain/public-key.ts'
import type { SignatureVerifier, SignedParts } from '#services/identity/ports/token-signatures.ts'

const KINDS = { ES256: 'EC', RS256: 'RSA' } as const satisfies Record<SignatureAlgorithm, PublicKey['kty']>

/** Verifies signatures by jose, on Node's thread pool. */
export class JoseVerifier implements SignatureVerifier {
  readonly #imported = new WeakMap<PublicKey, Promise<CryptoKey | undefined>>()

  async verify({ algorithm, input, signature }: SignedParts, keys: readonly PublicKey[]): Promise<boolean> {
    const token = `${input}.${Buffer.from(signature).toString('base64url')}`
    for (const key of keys) {
      if (key.kty === KINDS[algorithm] && (await this.#hasSigned(key, token, algorithm))) return true
    }
    return false
  }

  async #hasSigned(key: PublicKey, token: string, algorithm: SignatureAlgorithm): Promise<boolean> {
    const imported = await this.#import(key, algorithm)
    if (imported === undefined) return false
    try {
      await compactVerify(token, imported, { algorithms: [algorithm] })
      return true
    } catch {
      return false
    }
  }

  #import(key: PublicKey, algorithm: SignatureAlgorithm): Promise<CryptoKey | undefined> {
    let imported = this.#imported.get(key)
    if (imported === undefined) {
      imported = importJWK(key, algorithm).then(
        (made) => (made instanceof Uint8Array ? undefined : made),
        () => undefined,
      )
      this.#imported.set(key, imported)
    }
    return imported
  }
}
