import { type KeyObject, sign, verify } from 'node:crypto'
import { randomOf } from '#test/support/generated-conditions.ts'
import { base64url, newTokenKey, signText, type TokenKey } from '#test/support/subject-tokens.ts'

/** What a token must contain to be accepted; `now` is in seconds since the epoch. */
export interface Demands {
  readonly publicKey: KeyObject
  readonly alg: TokenKey['alg']
  readonly kid: string
  readonly issuer: string
  readonly subject: string
  readonly audience: string
  readonly now: number
}

/**
 * An independent verifier, over node:crypto and JSON.parse alone: whether a token contains what is required, read
 * generously.
 */
export function isGood(token: string, { publicKey, alg, kid, issuer, subject, audience, now }: Demands): boolean {
  const [header, payload, signature, ...more] = token.split('.')
  if (header === undefined || payload === undefined || signature === undefined || more.length > 0) return false
  const [head, claims] = [parse(header), parse(payload)]
  if (head?.alg !== alg || (head.kid !== undefined && head.kid !== kid)) return false
  const key = { key: publicKey, dsaEncoding: 'ieee-p1363' } as const
  if (!verify('sha256', Buffer.from(`${header}.${payload}`), key, Buffer.from(signature, 'base64url'))) return false
  const audiences = Array.isArray(claims?.aud) ? claims.aud : [claims?.aud]
  return (
    claims?.iss === issuer &&
    claims.sub === subject &&
    audiences.includes(audience) &&
    typeof claims.exp === 'number' &&
    claims.exp > now
  )
}

function parse(part: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(Buffer.from(part, 'base64url').toString())
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : undefined
  } catch {
    return undefined
  }
}

const CHARACTERS = 'ABCXYZabcxyz019-_+/=. \n%"\u0000é'
const TEXTS = [
  '',
  'x',
  '\ufeff',
  '\\u0073ub',
  'null',
  '[]',
  '{}',
  '1e999',
  '1e308',
  '"\\ud800"',
  '-1',
  '0',
  '"',
  ',',
  ' ',
  '\t',
]
const HEADERS = ['alg', 'kid', 'typ', 'crit', 'b64', 'jwk', 'jku', 'x5c', 'zip', 'enc', '__proto__']
const CLAIMS = ['iss', 'sub', 'aud', 'exp', 'nbf', 'iat', 'jti', 'scopes', 'token_type', '__proto__', 'constructor']
const ALGORITHMS = ['none', 'None', 'HS256', 'RS256', 'ES256', 'PS256', 'es256', 'ES384', 'EdDSA']
const VALUES = [null, true, 0, -1, 1e15, '', 'x', [], {}, ['x'], [['x']], { a: 1 }, 'x'.repeat(600), 2 ** 40, 1.5]

/** Makes tokens that differ from a good one by little, by much, or by nothing that matters. */
export class TokenMutator {
  readonly #random: () => number
  readonly #key: TokenKey
  readonly #others: readonly TokenKey[] = [newTokenKey('ES256', 'k1'), newTokenKey('RS256', 'k1')]

  constructor(seed: number, key: TokenKey) {
    this.#random = randomOf(seed)
    this.#key = key
  }

  mutate(claims: Readonly<Record<string, unknown>>): string {
    const header = { alg: this.#key.alg, kid: this.#key.kid, typ: 'JWT' }
    return this.#pick(
      () => this.#scratched(this.#signed(header, claims)),
      () => this.#scratched(this.#signed(header, claims)),
      () => this.#signed(this.#changed(header, HEADERS), claims),
      () => this.#signed(header, this.#changed(claims, CLAIMS)),
      () => this.#signed(header, this.#changed(claims, CLAIMS)),
      () => this.#rewritten(JSON.stringify(header), JSON.stringify(claims)),
      () => this.#spliced(this.#signed(header, claims), this.#signed(header, this.#changed(claims, CLAIMS))),
      () => this.#resigned(header, claims),
      () => this.#signed(header, claims),
    )()
  }

  #below(count: number): number {
    return Math.floor(this.#random() * count)
  }

  #pick<T>(...items: readonly T[]): T {
    return items[this.#below(items.length)] as T
  }

  #signed(header: object, claims: object): string {
    const key = this.#random() < 0.95 ? this.#key : this.#pick(...this.#others)
    return signText(JSON.stringify(header), JSON.stringify(claims), key)
  }

  /** Characters replaced, inserted, removed or moved. */
  #scratched(token: string): string {
    let text = token
    for (let times = 1 + this.#below(3); times > 0; times -= 1) {
      const at = this.#below(text.length + 1)
      const inserted = this.#pick('', this.#pick(...CHARACTERS))
      const removed = this.#pick(0, 1, 1, 1, 2, 40)
      text = text.slice(0, at) + inserted + text.slice(at + removed)
    }
    return text
  }

  /** Members replaced, added or removed. */
  #changed(object: Readonly<Record<string, unknown>>, names: readonly string[]): Record<string, unknown> {
    const changed = { ...object }
    for (let times = 1 + this.#below(2); times > 0; times -= 1) {
      const name = this.#pick(...names)
      const old = changed[name]
      const near = typeof old === 'string' ? [` ${old}`, `${old}/`, old.toUpperCase(), [old], [old, 'x'], [old, 1]] : []
      const value = this.#pick<unknown>(
        ...VALUES,
        ...near,
        ...near,
        name === 'alg' ? this.#pick(...ALGORITHMS) : undefined,
      )
      Object.defineProperty(changed, name, { value, enumerable: true, configurable: true, writable: true })
    }
    return changed
  }

  /** The same JSON with text inserted, and signed. */
  #rewritten(header: string, payload: string): string {
    const with_ = (text: string): string => {
      const at = this.#below(text.length + 1)
      return this.#random() < 0.5 ? text : text.slice(0, at) + this.#pick(...TEXTS) + text.slice(at + this.#below(2))
    }
    const doubled =
      this.#random() < 0.2 ? payload.replace('{', `{"${this.#pick('sub', '\\u0073ub', 'aud')}":"x",`) : payload
    return signText(with_(header), with_(doubled), this.#key)
  }

  #spliced(one: string, other: string): string {
    const [parts, others] = [one.split('.'), other.split('.')]
    return parts.map((part, index) => this.#pick(part, others[index] ?? '')).join('.')
  }

  /** Another kind of signature over the right text. */
  #resigned(header: object, claims: object): string {
    const text = `${base64url(JSON.stringify(header))}.${base64url(JSON.stringify(claims))}`
    const right = Buffer.from(this.#signed(header, claims).split('.')[2] ?? '', 'base64url')
    const signature = this.#pick(
      () => sign('sha256', Buffer.from(text), this.#key.privateKey),
      () => right.subarray(0, this.#below(right.length)),
      () => Buffer.concat([right, Buffer.alloc(1 + this.#below(3))]),
      () => Buffer.alloc(right.length, this.#pick(0, 1, 255)),
      () => Buffer.from(right).reverse(),
      () => right,
    )()
    return `${text}.${this.#pick(signature.toString('base64url'), signature.toString('base64'))}`
  }
}
