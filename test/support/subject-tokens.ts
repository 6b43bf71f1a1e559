import { generateKeyPairSync, type KeyObject, sign } from 'node:crypto'

/** A key pair that signs subject tokens of the tests. */
export interface TokenKey {
  readonly alg: 'ES256' | 'RS256'
  readonly kid: string
  readonly privateKey: KeyObject
  readonly publicKey: KeyObject
  /** The public half, as in a key set. */
  readonly jwk: Readonly<Record<string, unknown>>
}

/** Makes a key pair; RSA keys have 2,048 bits. */
export function newTokenKey(alg: TokenKey['alg'], kid: string): TokenKey {
  const { privateKey, publicKey } =
    alg === 'ES256'
      ? generateKeyPairSync('ec', { namedCurve: 'P-256' })
      : generateKeyPairSync('rsa', { modulusLength: 2048 })
  return { alg, kid, privateKey, publicKey, jwk: { ...publicKey.export({ format: 'jwk' }), kid, alg, use: 'sig' } }
}

/** A part of a token. */
export const base64url = (part: string | Uint8Array): string => Buffer.from(part as string).toString('base64url')

/** Signs what header and payload say, to the letter. */
export function signText(header: string | Uint8Array, payload: string | Uint8Array, key: TokenKey): string {
  const signed = `${base64url(header)}.${base64url(payload)}`
  const signature = sign('sha256', Buffer.from(signed), { key: key.privateKey, dsaEncoding: 'ieee-p1363' })
  return `${signed}.${signature.toString('base64url')}`
}

/** Signs claims; `header` adds to the key's own header, and removes what it sets to undefined. */
export function signToken(claims: object, key: TokenKey, header: object = {}): string {
  const whole = { alg: key.alg, kid: key.kid, typ: 'JWT', ...header }
  return signText(JSON.stringify(whole), JSON.stringify(claims), key)
}
