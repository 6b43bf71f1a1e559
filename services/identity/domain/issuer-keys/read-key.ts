import type { PublicKey, SignatureAlgorithm } from '../public-key.ts'

/** An issuer's key that may verify subject tokens. */
export interface IssuerKey {
  /** Undefined if the key has no id. */
  readonly kid: string | undefined
  readonly algorithm: SignatureAlgorithm
  readonly key: PublicKey
}

/** A member of a key set: a key, or the reason why it is not used, for people. */
export type ReadKey = IssuerKey | { readonly unusable: string; readonly isPrivate: boolean }

type Jwk = Readonly<Record<string, unknown>>

const PRIVATE_MEMBERS = ['d', 'p', 'q', 'dp', 'dq', 'qi', 'oth', 'k']
const LEAST_RSA_BITS = 2_048
const MOST_RSA_BITS = 4_096
/**
 * Bounds of exponents, which must be odd: 1 signs nothing, 3 was broken too often, and a long one makes verification
 * slow.
 */
const LOW_EXPONENT = 3n
const HIGH_EXPONENT = 2n ** 33n

/**
 * Reads a member of a key set. Only public keys for ES256 or RS256 signatures are used: a `use`, `key_ops` or `alg` for
 * anything else excludes a key, and so does a private part, since the key is then no longer secret.
 */
export function readKey(jwk: Jwk): ReadKey {
  const { kid, kty, alg, use, key_ops: operations } = jwk
  if (PRIVATE_MEMBERS.some((name) => Object.hasOwn(jwk, name))) {
    return { unusable: 'it holds a private or symmetric key', isPrivate: true }
  }
  if (kid !== undefined && typeof kid !== 'string') return unusable('its kid is not a string')
  if (use !== undefined && use !== 'sig') return unusable('its use is not sig')
  if (operations !== undefined && !(Array.isArray(operations) && operations.includes('verify'))) {
    return unusable('its key_ops do not include verify')
  }
  const key = kty === 'RSA' ? readRsa(jwk) : kty === 'EC' ? readP256(jwk) : 'its kty is neither RSA nor EC'
  if (typeof key === 'string') return unusable(key)
  const algorithm = key.kty === 'RSA' ? 'RS256' : 'ES256'
  if (alg !== undefined && alg !== algorithm) return unusable(`its alg is not ${algorithm}`)
  return { kid, algorithm, key }
}

function readRsa({ n, e }: Jwk): PublicKey | string {
  const modulus = numberIn(n, MOST_RSA_BITS)
  const exponent = numberIn(e, MOST_RSA_BITS)
  if (modulus === undefined || exponent === undefined) return 'its n or e is not a number in base64url, or too long'
  const bits = modulus.toString(2).length
  if (bits < LEAST_RSA_BITS || bits > MOST_RSA_BITS) return `it has ${bits} bits, and needs 2048 to 4096`
  if (modulus % 2n === 0n) return 'its n is even'
  if (exponent % 2n === 0n || exponent <= LOW_EXPONENT || exponent >= HIGH_EXPONENT) {
    return 'its e is not odd, above 3 and below 2^33'
  }
  return { kty: 'RSA', n: n as string, e: e as string }
}

/** The curve P-256 (FIPS 186-4, D.1.2.3): y² = x³ − 3x + b modulo p. */
const P = 2n ** 256n - 2n ** 224n + 2n ** 192n + 2n ** 96n - 1n
const B = 0x5ac635d8aa3a93e7b3ebbd55769886bc651d06b0cc53b0f63bce3c3e27d2604bn

/** The key of RFC 7515 appendix A.3, an example in many documents. */
const PUBLISHED_X = 'f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU'

function readP256({ crv, x, y }: Jwk): PublicKey | string {
  if (crv !== 'P-256') return 'its crv is not P-256'
  if (x === PUBLISHED_X) return 'its private half is published, in RFC 7515'
  const first = numberIn(x, 256)
  const second = numberIn(y, 256)
  if (first === undefined || second === undefined || first >= P || second >= P) return 'its x or y is not a coordinate'
  if ((second * second - first * first * first + 3n * first - B) % P !== 0n) return 'its point is not on the curve'
  return { kty: 'EC', crv, x: x as string, y: y as string }
}

/**
 * The number in base64url digits; undefined if they are invalid, or if it has more than that many bits plus one byte.
 */
function numberIn(text: unknown, bits: number): bigint | undefined {
  // Some languages only write signed numbers, with a leading zero byte.
  const mostDigits = Math.ceil((bits + 8) / 6)
  if (typeof text !== 'string' || text.length > mostDigits || !/^[\w-]+$/.test(text) || text.length % 4 === 1) {
    return undefined
  }
  return BigInt(`0x${Buffer.from(text, 'base64url').toString('hex')}`)
}

function unusable(reason: string): ReadKey {
  return { unusable: reason, isPrivate: false }
}
