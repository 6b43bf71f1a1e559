import type { PublicKey, SignatureAlgorithm } from '../domain/public-key.ts'

/**
 * What was signed (RFC 7515 section 5.2): the first two parts of the token with their dot, in ASCII; and the bytes of
 * the third.
 */
export interface SignedParts {
  readonly algorithm: SignatureAlgorithm
  readonly input: string
  readonly signature: Uint8Array
}

/** Verifies the signatures of tokens. */
export interface SignatureVerifier {
  /**
   * Whether one of the keys has signed it. A key of another kind than the algorithm's, or an invalid one, has not.
   * Never throws. What is derived from a key is cached for as long as its object lives.
   */
  verify(parts: SignedParts, keys: readonly PublicKey[]): Promise<boolean>
}
