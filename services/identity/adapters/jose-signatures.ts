import { compactVerify, SignJWT } from 'jose'
import type { AccessTokenClaims, AccessTokenHeader } from '#services/identity/domain/access-token.ts'
import type { PrivateKey, PublicKey, SignatureAlgorithm } from '#services/identity/domain/public-key.ts'
import type { TokenSignatures } from '#services/identity/ports/token-signatures.ts'

const KINDS = { ES256: 'EC', RS256: 'RSA' } as const satisfies Record<SignatureAlgorithm, PublicKey['kty']>

/** Signatures by jose, which caches what it derives from a key for as long as its object lives. */
export class JoseSignatures implements TokenSignatures {
  sign(header: AccessTokenHeader, claims: AccessTokenClaims, key: PrivateKey): Promise<string> {
    return new SignJWT({ ...claims }).setProtectedHeader(header).sign(key)
  }

  async verify(token: string, algorithm: SignatureAlgorithm, keys: readonly PublicKey[]): Promise<boolean> {
    for (const key of keys) {
      if (key.kty === KINDS[algorithm] && (await hasSigned(key, token, algorithm))) return true
    }
    return false
  }
}

async function hasSigned(key: PublicKey, token: string, algorithm: SignatureAlgorithm): Promise<boolean> {
  try {
    await compactVerify(token, key, { algorithms: [algorithm] })
    return true
  } catch {
    return false
  }
}
