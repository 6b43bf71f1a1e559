import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { test } from 'node:test'
import { candidatesOf, inlineKeySetProblem, type KeySet, lacks, readInlineKeySet, readKeySet } from './key-set.ts'

type Jwk = Record<string, unknown>

const ec = (kid?: unknown): Jwk => ({ ...publicJwk(generateKeyPairSync('ec', { namedCurve: 'P-256' })), kid })
const rsa = (kid?: unknown, modulusLength = 2_048): Jwk => {
  return { ...publicJwk(generateKeyPairSync('rsa', { modulusLength })), kid }
}
const publicJwk = (pair: { publicKey: { export(options: { format: 'jwk' }): object } }): Jwk => {
  return { ...pair.publicKey.export({ format: 'jwk' }) }
}

const [ecKey, rsaKey] = [ec('good'), rsa('good')]
const es256 = { algorithm: 'ES256', kid: 'good' } as const
const rs256 = { algorithm: 'RS256', kid: 'good' } as const

/** The set as it would come over the wire. */
const read = (...keys: unknown[]): KeySet => {
  const set = readKeySet(JSON.parse(JSON.stringify({ keys })))
  assert.ok(!('problem' in set))
  return set
}
const problemOf = (value: unknown): string | undefined => {
  const set = readKeySet(value)
  return 'problem' in set ? set.problem : undefined
}

/** The key is unusable for that reason, and another one beside it is used. */
function notUsed(key: Jwk, reason: RegExp): void {
  const set = read(key, { ...ecKey, kid: 'another' })
  for (const algorithm of ['ES256', 'RS256'] as const) {
    assert.deepEqual(candidatesOf(set, { algorithm, kid: 'good' }), [], JSON.stringify(key))
  }
  assert.equal(set.keys.length, 1)
  assert.match(set.unusable.join(), reason)
}

test('a key verifies tokens of its algorithm that name it', () => {
  const set = read(ecKey, rsaKey)
  const { x, y, n, e } = { ...ecKey, ...rsaKey } as Record<string, string>
  assert.deepEqual(candidatesOf(set, es256), [{ kty: 'EC', crv: 'P-256', x, y }])
  assert.deepEqual(candidatesOf(set, rs256), [{ kty: 'RSA', n, e }])
  for (const kid of ['', 'Good', 'good ', '__proto__', '../good', 'x'.repeat(8_000)]) {
    assert.deepEqual(candidatesOf(set, { ...es256, kid }), [])
  }
})

test('a token that names no key is verified only where one key fits its algorithm', () => {
  const nameless = { algorithm: 'ES256', kid: undefined } as const
  assert.equal(candidatesOf(read(ecKey, rsaKey), nameless).length, 1)
  assert.equal(candidatesOf(read(ec(), rsaKey), nameless).length, 1)
  assert.deepEqual(candidatesOf(read(ecKey, ec('other')), nameless), [])
  assert.deepEqual(candidatesOf(read(rsaKey), nameless), [])
  // Whether later keys may help; they do not if several fit already.
  assert.deepEqual([lacks(read(rsaKey), nameless), lacks(read(ecKey, ec('other')), nameless)], [true, false])
})

test('a key without an id verifies no token that names one', () => {
  assert.deepEqual(candidatesOf(read(ec()), es256), [])
})

test('a private key in a set is not used, and the rest of the set is', () => {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  notUsed({ ...privateKey.export({ format: 'jwk' }), kid: 'good' }, /private/)
  for (const member of ['d', 'p', 'q', 'dp', 'dq', 'qi', 'oth', 'k'])
    notUsed({ ...rsaKey, [member]: 'AQAB' }, /private/)
})

test('symmetric keys and keys for encryption, other operations, algorithms or curves match nothing', () => {
  notUsed({ kty: 'oct', k: 'AQAB', kid: 'good' }, /symmetric/)
  notUsed({ kty: 'oct', kid: 'good' }, /neither RSA nor EC/)
  notUsed({ ...ecKey, use: 'enc' }, /use/)
  notUsed({ ...ecKey, use: null }, /use/)
  notUsed({ ...ecKey, key_ops: ['sign'] }, /key_ops/)
  notUsed({ ...ecKey, key_ops: 'verify' }, /key_ops/)
  notUsed({ ...ecKey, alg: 'ES384' }, /alg/)
  notUsed({ ...ecKey, alg: 'RS256' }, /alg/)
  notUsed({ ...rsaKey, alg: 'PS256' }, /alg/)
  notUsed({ ...rsaKey, alg: null }, /alg/)
  notUsed({ ...publicJwk(generateKeyPairSync('ec', { namedCurve: 'P-384' })), kid: 'good' }, /crv/)
  notUsed({ ...publicJwk(generateKeyPairSync('ed25519')), kid: 'good' }, /neither RSA nor EC/)
  const used = { ...ecKey, use: 'sig', key_ops: ['verify'], alg: 'ES256', ext: true, x5c: ['?'] }
  assert.equal(candidatesOf(read(used), es256).length, 1)
})

test('at most 4 keys with one id are tried', () => {
  const keys = Array.from({ length: 6 }, () => ec('good'))
  const tried = candidatesOf(read(...keys), es256)
  assert.deepEqual(
    tried.map((key) => 'x' in key && key.x),
    keys.slice(0, 4).map(({ x }) => x),
  )
})

test('an RSA key under 2,048 bits and a point off the curve verify nothing, and are no error', () => {
  notUsed(rsa('good', 1_024), /1024 bits/)
  notUsed({ ...ecKey, x: ecKey.y }, /not on the curve/)
  notUsed({ ...ecKey, x: 'A'.repeat(43) }, /not on the curve/)
  notUsed({ ...ecKey, x: '_'.repeat(43) }, /not a coordinate/)
  notUsed({ ...ecKey, y: undefined }, /not a coordinate/)
  notUsed({ ...ecKey, y: `${ecKey.y}AAAA` }, /not a coordinate/)
})

test('the example key of RFC 7515, whose private half is published, verifies nothing', () => {
  const [x, y] = ['f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU', 'x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0']
  notUsed({ kty: 'EC', crv: 'P-256', x, y }, /published/)
})

test('an RSA key has 2,048 to 4,096 bits and an odd exponent above 3 and below 2^33', () => {
  for (const bits of [2_048, 3_072, 4_096]) assert.equal(candidatesOf(read(rsa('good', bits)), rs256).length, 1)
  const digits = (hex: string) => Buffer.from(hex, 'hex').toString('base64url')
  notUsed({ ...rsaKey, n: digits(`01${'00'.repeat(511)}01`) }, /4097 bits|too long/)
  notUsed({ ...rsaKey, n: digits(`ff${'ff'.repeat(8_191)}`) }, /too long/)
  notUsed({ ...rsaKey, n: digits(`ff${'ff'.repeat(254)}fe`) }, /even/)
  for (const e of ['', '00', '01', '03', '010000', '0200000001', rsaKey.n]) {
    notUsed({ ...rsaKey, e: typeof e === 'string' && e.length < 20 ? digits(e) : e }, /its e|its n or e/)
  }
  for (const e of ['05', '11', '010001', '01ffffffff']) assert.equal(read({ ...rsaKey, e: digits(e) }).keys.length, 1)
  // With a leading zero byte, as languages with signed numbers write it.
  const padded = Buffer.concat([Buffer.alloc(1), Buffer.from(rsaKey.n as string, 'base64url')]).toString('base64url')
  assert.equal(read({ ...rsaKey, n: padded }).keys.length, 1)
  for (const n of ['not base64url!', 'AA==', '+/+/', 5, null, ['AQAB'], {}]) notUsed({ ...rsaKey, n }, /its n or e/)
})

test('a set is refused without a list of keys or with members that are no objects; a malformed key does not affect the others', () => {
  for (const value of [null, [], 'keys', 5, {}, { keys: {} }, { keys: 'x' }, { keys: null }]) {
    assert.match(problemOf(value) ?? '', /no list of keys/)
  }
  for (const member of [null, 'key', 5, [], [ecKey]])
    assert.match(problemOf({ keys: [ecKey, member] }) ?? '', /objects/)
  for (const member of [{}, { kty: 5 }, { kty: 'EC', kid: 'good' }, { kty: 'RSA', kid: 'good', n: {}, e: [] }]) {
    assert.equal(candidatesOf(read(member, ecKey), es256).length, 1)
  }
})

test('an empty set verifies nothing', () => {
  assert.deepEqual(read(), { keys: [], unusable: [] })
  assert.deepEqual(candidatesOf(read(), es256), [])
})

test('a kid that is not a string never matches', () => {
  for (const kid of [5, null, true, ['good'], { toString: 'good' }]) {
    notUsed({ ...ecKey, kid }, /kid/)
    assert.deepEqual(candidatesOf(read({ ...ecKey, kid }), { algorithm: 'ES256', kid: undefined }), [])
  }
})

test('a set has at most 100 keys', () => {
  const keys = (count: number) => ({ keys: Array.from({ length: count }, (_, i) => ({ ...ecKey, kid: `${i}` })) })
  const set = readKeySet(keys(100))
  assert.equal('keys' in set && set.keys.length, 100)
  assert.match(problemOf(keys(101)) ?? '', /101 keys/)
})

test('a key is the same object each time, so that what is derived from it can be kept', () => {
  const set = read(ecKey)
  const [[first], [second]] = [candidatesOf(set, es256), candidatesOf(set, { ...es256, kid: undefined })]
  assert.ok(first !== undefined && first === second)
})

test('an inline set is refused without a usable key or with a private one, in a message that shows none of its values', () => {
  const text = (...keys: Jwk[]) => JSON.stringify({ keys })
  assert.equal(inlineKeySetProblem(text(ecKey, rsaKey)), undefined)
  assert.equal(inlineKeySetProblem(text(ecKey, { kty: 'OKP', kid: 'other' })), undefined)
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  for (const [bad, problem] of [
    ['', /not JSON/],
    ['{"keys":[secret', /not JSON/],
    ['[]', /no list/],
    [text(), /no key that can be used/],
    [text({ ...ecKey, use: 'enc' }), /no key that can be used; key 1: its use is not sig/],
    [text(ecKey, { ...privateKey.export({ format: 'jwk' }) }), /private or symmetric key \(key 2\)/],
    [text(ecKey, { kty: 'oct', k: 'secret' }), /private or symmetric key \(key 2\)/],
  ] as const) {
    const found = inlineKeySetProblem(bad) ?? ''
    assert.match(found, problem)
    assert.doesNotMatch(found, /secret/)
  }
  const set = readInlineKeySet(text(ecKey))
  assert.equal('keys' in set && candidatesOf(set, es256).length, 1)
})
