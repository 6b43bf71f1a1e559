/** A public key as everybody may know it: the members of a JWK (RFC 7517) that say which key it is, and no others. */
export type PublicKey =
  | { readonly kty: 'EC'; readonly crv: 'P-256'; readonly x: string; readonly y: string }
  | { readonly kty: 'RSA'; readonly n: string; readonly e: string }

/** The algorithms of signatures that are taken; each has one kind of key. */
export type SignatureAlgorithm = 'ES256' | 'RS256'
