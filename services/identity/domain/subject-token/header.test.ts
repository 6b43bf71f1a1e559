import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ExchangeStep_Verdict as Result } from '#gen/portico/identity/v1/federation_pb.js'
import type { JsonObject } from '#shared/json.ts'
import { checkHeader, keyChoiceOf } from './read-subject-token.ts'

const refused = (header: JsonObject): boolean => {
  assert.equal(checkHeader(header).verdict === Result.FAILED, keyChoiceOf(header) === undefined)
  return keyChoiceOf(header) === undefined
}

test('ES256 and RS256 are taken, with a kid or without', () => {
  assert.deepEqual(keyChoiceOf({ alg: 'ES256', kid: 'a' }), { algorithm: 'ES256', kid: 'a' })
  assert.deepEqual(keyChoiceOf({ alg: 'RS256' }), { algorithm: 'RS256', kid: undefined })
  assert.equal(checkHeader({ alg: 'RS256', kid: '' }).verdict, Result.PASSED)
})

test('no algorithm, none in any spelling, a number, small letters and every other algorithm are refused', () => {
  assert.ok(refused({ kid: 'a' }))
  for (const alg of [
    'none',
    'None',
    'NONE',
    '',
    256,
    null,
    true,
    ['ES256'],
    { a: 'ES256' },
    'es256',
    'rs256',
    ' ES256',
  ]) {
    assert.ok(refused({ alg, kid: 'a' }), JSON.stringify(alg))
  }
  for (const alg of [
    'HS256',
    'HS512',
    'PS256',
    'RS384',
    'RS512',
    'ES384',
    'ES512',
    'ES256K',
    'EdDSA',
    'Ed25519',
    'dir',
  ]) {
    assert.ok(refused({ alg, kid: 'a' }), alg)
  }
})

test('a kid that is not a string is refused, and any string is passed on unchanged', () => {
  for (const kid of [1, null, true, [], ['a'], {}]) assert.ok(refused({ alg: 'ES256', kid }), JSON.stringify(kid))
  for (const kid of ['', '../../etc/passwd', "' OR 1=1 --", '__proto__', 'constructor', '\u0000', 'k'.repeat(8000)]) {
    assert.equal(keyChoiceOf({ alg: 'ES256', kid })?.kid, kid)
  }
})

test('keys and addresses in the header are ignored', () => {
  const brought = { jwk: { kty: 'EC' }, jku: 'https://evil.test', x5u: 'https://evil.test', x5c: ['a'], x5t: 'b' }
  assert.deepEqual(keyChoiceOf({ alg: 'ES256', kid: 'a', ...brought }), { algorithm: 'ES256', kid: 'a' })
})

test('crit and b64 are refused, whatever their values', () => {
  for (const crit of [['exp'], [], ['b64'], ['alg'], 'b64', null]) assert.ok(refused({ alg: 'ES256', crit }))
  for (const b64 of [false, true, null]) {
    assert.ok(refused({ alg: 'ES256', b64 }))
    assert.ok(refused({ alg: 'ES256', b64, crit: ['b64'] }))
  }
})

test('typ and cty are ignored', () => {
  for (const typ of ['JWT', 'at+jwt', 'application/at+jwt', 1, null])
    assert.ok(!refused({ alg: 'ES256', typ, cty: 'JWT' }))
})

test('the header has no members but its own, whatever every object inherits', () => {
  assert.ok(refused(Object.create({ alg: 'ES256' }) as JsonObject))
  assert.ok(!refused({ alg: 'ES256', ...(JSON.parse('{"__proto__": {"crit": ["a"]}}') as JsonObject) }))
})
