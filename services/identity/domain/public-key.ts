/** A public key: the members of a JWK (RFC 7517) that identify it, and no others. */
export type PublicKey =
  | { readonly kty: 'EC'; readonly crv: 'P-256'; readonly x: string; readonly y: string }
  | { readonly kty: 'RSA'; readonly n: string; readonly e: string }

/** The accepted signature algorithms, each with one kind of key. */
export type SignatureAlgorithm = 'ES256' | 'RS256'

/** A private key, which signs and cannot be exported. */
export type PrivateKey = InstanceType<typeof CryptoKey>
