import { generateKeyPairSync, randomBytes, randomInt, sign } from 'node:crypto'
import { isIP } from 'node:net'

/** A certificate that is its own authority, and its private key; both in PEM. */
export interface TestCertificate {
  readonly cert: string
  readonly key: string
}

/**
 * Makes a certificate for names and IP addresses, valid until 2049; a client accepts it that trusts it as an authority.
 */
export function makeCertificate(names: readonly string[] = ['localhost', '127.0.0.1', '::1']): TestCertificate {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const name = sequence(der(0x31, sequence(oid('550403'), der(0x0c, Buffer.from('an authority of the tests')))))
  const extensions = sequence(
    sequence(oid('551d13'), der(0x04, sequence(der(0x01, Buffer.from('ff', 'hex'))))),
    sequence(oid('551d11'), der(0x04, sequence(...names.map(alternativeName)))),
  )
  const content = sequence(
    der(0xa0, integer(2)),
    integer(1 + randomInt(126), ...randomBytes(8)),
    sequence(ECDSA_SHA256),
    name,
    sequence(time('200101000000Z'), time('491231235959Z')),
    name,
    publicKey.export({ type: 'spki', format: 'der' }),
    der(0xa3, extensions),
  )
  const signature = der(0x03, Buffer.alloc(1), sign('sha256', content, privateKey))
  const body = sequence(content, sequence(ECDSA_SHA256), signature).toString('base64')
  return {
    cert: `-----BEGIN CERTIFICATE-----\n${body.match(/.{1,64}/g)?.join('\n')}\n-----END CERTIFICATE-----\n`,
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
  }
}

/** A value in the distinguished encoding rules of ASN.1. */
function der(tag: number, ...parts: readonly Buffer[]): Buffer {
  const body = Buffer.concat(parts)
  const { length: size } = body
  const length = size < 0x80 ? [size] : size < 0x100 ? [0x81, size] : [0x82, size >> 8, size & 0xff]
  return Buffer.concat([Buffer.from([tag, ...length]), body])
}

const sequence = (...parts: readonly Buffer[]): Buffer => der(0x30, ...parts)
const oid = (hex: string): Buffer => der(0x06, Buffer.from(hex, 'hex'))
const time = (text: string): Buffer => der(0x17, Buffer.from(text))
/** A non-negative number without leading zeros. */
const integer = (...bytes: readonly number[]): Buffer => der(0x02, Buffer.from(bytes))
const ECDSA_SHA256 = oid('2a8648ce3d040302')

function alternativeName(name: string): Buffer {
  const family = isIP(name)
  if (family === 0) return der(0x82, Buffer.from(name))
  if (family === 4) return der(0x87, Buffer.from(name.split('.').map(Number)))
  const [head = '', tail = ''] = name.split('::')
  const groups = (text: string) => (text === '' ? [] : text.split(':'))
  const zeros = Array<string>(8 - groups(head).length - groups(tail).length).fill('0')
  const all = [...groups(head), ...zeros, ...groups(tail)].map((group) => group.padStart(4, '0'))
  return der(0x87, Buffer.from(all.join(''), 'hex'))
}
