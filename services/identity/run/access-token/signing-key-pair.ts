import { createPrivateKey, generateKeyPairSync } from 'node:crypto'
import type { PrivateKey } from '#services/identity/domain/public-key.ts'
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

/** The private half, which signs and cannot be exported; undefined: it is encrypted with another key. */
export function privateKeyOf(
  { kid, sealed }: Pick<SigningKey, 'kid' | 'sealed'>,
  seal: KeySeal,
): PrivateKey | undefined {
  const opened = seal.open(kid, sealed)
  if (opened === undefined) return undefined
  const key = createPrivateKey({ key: opened.bytes, format: 'der', type: 'pkcs8' })
  return key.toCryptoKey({ name: 'ECDSA', namedCurve: 'P-256' }, false, ['sign'])
}
