import type { AccessTokenClaims, AccessTokenHeader } from '../domain/access-token.ts'
import type { PrivateKey, PublicKey, SignatureAlgorithm } from '../domain/public-key.ts'

/** Makes and verifies the signatures of tokens in compact form (RFC 7515). */
export interface TokenSignatures {
  /** The access token with this header and these claims, whose members keep their order. */
  sign(header: AccessTokenHeader, claims: AccessTokenClaims, key: PrivateKey): Promise<string>

  /**
   * Whether one of the keys has signed the token with this algorithm, which its header must name. A key of another kind
   * than the algorithm's, or an invalid one, has not. Never throws. What is derived from a key is cached for as long as
   * its object lives.
   */
  verify(token: string, algorithm: SignatureAlgorithm, keys: readonly PublicKey[]): Promise<boolean>
}
