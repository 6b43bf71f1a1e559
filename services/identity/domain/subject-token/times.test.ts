import assert from 'node:assert/strict'
import { test } from 'node:test'
import { create } from '@bufbuild/protobuf'
import { ExchangeStepSchema, ExchangeStep_Verdict as Result } from '#gen/portico/identity/v1/federation_pb.js'
import type { JsonObject, JsonValue } from '#shared/json.ts'
import { expiryOf } from '../access-token.ts'
import { checkExpiry, checkLifetime } from './rules.ts'
import { stepOf } from './step.ts'

const NOW = 1_800_000_000
const passes = (claims: JsonObject, maxAge?: number, now = NOW * 1000): boolean =>
  checkExpiry(claims, now, maxAge).verdict === Result.PASSED
const expiry = (exp: number, keyExpires?: number, now = NOW * 1000) =>
  expiryOf({ subjectExpires: exp, keyExpires }, now)
const wrong: readonly JsonValue[] = ['1900000000', null, true, [1_900_000_000], {}, -1, Number.NaN]

test('exp missing, of a wrong type, negative, 0, past or equal to now is refused', () => {
  assert.ok(passes({ exp: NOW + 1 }))
  assert.ok(!passes({}))
  for (const exp of [...wrong, 0, -0, NOW - 1, NOW, NOW - 0.001]) assert.ok(!passes({ exp }), JSON.stringify(exp))
})

test('exp of 2^40 and beyond is refused: milliseconds, 2^53 + 1 and what is infinite', () => {
  assert.ok(passes({ exp: 2 ** 40 - 1 }))
  for (const exp of [2 ** 40, NOW * 1000, 2 ** 53 + 1, 1e308, JSON.parse('1e999')])
    assert.ok(!passes({ exp }), `${exp}`)
})

test('an access token lives 900 seconds at most, whole ones, and no longer than the subject token and the key', () => {
  assert.equal(expiry(NOW + 5000), NOW + 900)
  assert.equal(expiry(NOW + 900.9), NOW + 900)
  assert.equal(expiry(NOW + 60.9), NOW + 60)
  assert.equal(expiry(NOW + 60, NOW * 1000 + 30_999), NOW + 30)
  assert.equal(expiry(2 ** 40 - 1, NOW * 1000 + 901_000), NOW + 900)
  assert.equal(expiry(NOW + 1), NOW + 1)
})

test('a subject token with less than a second left yields no access token', () => {
  assert.equal(expiry(NOW + 0.9), undefined)
  assert.equal(expiry(NOW + 1, undefined, NOW * 1000 + 1), undefined)
  assert.equal(expiry(NOW + 60, NOW * 1000 + 999), undefined)
  assert.equal(expiry(NOW + 60, NOW * 1000 - 5000), undefined)
  assert.equal(checkLifetime({ exp: NOW + 0.9 }, undefined, NOW * 1000).verdict, Result.FAILED)
  assert.equal(checkLifetime({ exp: NOW + 9 }, undefined, NOW * 1000).verdict, Result.PASSED)
})

test('nbf in the future and nbf or iat of a wrong type are refused', () => {
  const exp = NOW + 300
  assert.ok(passes({ exp, nbf: NOW, iat: NOW }))
  assert.ok(!passes({ exp, nbf: NOW + 61 }))
  for (const value of [...wrong, Infinity, 2 ** 40]) {
    assert.ok(!passes({ exp, nbf: value }), JSON.stringify(value))
    assert.ok(!passes({ exp, iat: value }), JSON.stringify(value))
  }
})

test('iat after exp is refused, and with a maximum age a token without iat or with an old one', () => {
  assert.ok(!passes({ exp: NOW + 30, iat: NOW + 31 }))
  assert.ok(passes({ exp: NOW + 30, iat: NOW + 30 }))
  assert.ok(passes({ exp: NOW + 30, iat: 0 }))
  assert.ok(!passes({ exp: NOW + 30 }, 600))
  assert.ok(passes({ exp: NOW + 30, iat: NOW - 600 }, 600))
  assert.ok(!passes({ exp: NOW + 30, iat: NOW - 601 }, 600))
})

test('nbf and iat may lie 60 seconds ahead; exp has no tolerance, and the lifetime does not grow by any', () => {
  const exp = NOW + 300
  assert.ok(passes({ exp, nbf: NOW + 60, iat: NOW + 60 }))
  assert.ok(!passes({ exp, iat: NOW + 60.5 }))
  assert.ok(!passes({ exp: NOW }, undefined, NOW * 1000))
  assert.ok(passes({ exp: NOW }, undefined, NOW * 1000 - 1))
  assert.equal(expiry(NOW + 10), NOW + 10)
})

test('expected and found times are shown in seconds', () => {
  const verdict = checkExpiry({ exp: NOW - 1, iat: NOW - 2, sub: 'a' }, NOW * 1000 + 999, 60)
  const expected = create(ExchangeStepSchema, {
    name: 'expiry',
    verdict: Result.FAILED,
    expected: `exp after ${NOW}, nbf and iat not after ${NOW + 60}, iat not before ${NOW - 60}`,
    found: `{"exp":${NOW - 1},"iat":${NOW - 2}}`,
  })
  assert.deepEqual(stepOf('expiry', verdict), expected)
})
