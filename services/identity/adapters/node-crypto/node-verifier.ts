import { createPublicKey, type KeyObject, verify } from 'node:crypto'
import { derSignature } from '#services/identity/domain/plain-signature.ts'
import type { PublicKey, SignatureAlgorithm } from '#services/identity/domain/public-key.ts'
import type { SignatureVerifier, SignedParts } from '#services/identity/ports/token-signatures.ts'

const KINDS = { ES256: 'EC', RS256: 'RSA' } as const satisfies Record<SignatureAlgorithm, PublicKey['kty']>

/** Verifies signatures with node:crypto, as RFC 7518 sections 3.3 and 3.4 define them (ADR 20). */
export class NodeVerifier implements SignatureVerifier {
  readonly #imported = new WeakMap<PublicKey, KeyObject | null>()

  async verify({ algorithm, input, signature }: SignedParts, keys: readonly PublicKey[]): Promise<boolean> {
    const form = algorithm === 'ES256' ? derSignature(signature) : signature
    if (form === undefined) return false
    const signed = Buffer.from(input)
    return keys.some((key) => key.kty === KINDS[algorithm] && this.#hasSigned(key, signed, form))
  }

  #hasSigned(key: PublicKey, signed: Buffer, signature: Uint8Array): boolean {
    const imported = this.#import(key)
    return imported !== null && verify('sha256', signed, imported, signature)
  }

  /** Null if the key is invalid. */
  #import(key: PublicKey): KeyObject | null {
    let imported = this.#imported.get(key)
    if (imported === undefined) {
      imported = importKey(key)
      this.#imported.set(key, imported)
    }
    return imported
  }
}

function importKey(key: PublicKey): KeyObject | null {
  try {
    return createPublicKey({ key, format: 'jwk' })
  } catch {
    return null
  }
}
