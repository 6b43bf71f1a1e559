import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto'
import type { SigningKey } from '#services/identity/domain/signing-key.ts'
import { randomId } from '#shared/ids.ts'
import type { KeySeal } from './key-seal.ts'

/** Creates a key; its private half exists only in encrypted form. */
export function makeSigningKey(seal: KeySeal): Pick<SigningKey, 'kid' | 'x' | 'y' | 'sealed'> {
  const kid = randomId('sig')
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const { x = '', y = '' } = publicKey.export({ format: 'jwk' })
  return { kid, x, y, sealed: seal.seal(kid, privateKey.export({ format: 'der', type: 'pkcs8' })) }
}

/** The public half, which verifies. */
export function publicKeyOf({ x, y }: Pick<SigningKey, 'x' | 'y'>): KeyObject {
  return createPublicKey({ key: { kty: 'EC', crv: 'P-256', x, y }, format: 'jwk' })
}

/** The private half, which signs; undefined: it is encrypted with another key. */
export function privateKeyOf(
  { kid, sealed }: Pick<SigningKey, 'kid' | 'sealed'>,
  seal: KeySeal,
): KeyObject | undefined {
  const opened = seal.open(kid, sealed)
  return opened && createPrivateKey({ key: opened.bytes, format: 'der', type: 'pkcs8' })
}
