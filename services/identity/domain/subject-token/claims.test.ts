import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ExchangeStep_Verdict as Result } from '#gen/portico/identity/v1/federation_pb.js'
import type { JsonObject, JsonValue } from '#shared/json.ts'
import { checkClaims, requiredClaims, scopesOf, tokenTypeOf } from './claims.ts'
import { stepOf } from './step.ts'

const good = { iss: 'https://issuer.test', sub: 'a', aud: 'b' }
const passes = (more: JsonObject): boolean => {
  const claims = { ...good, ...more }
  assert.equal(checkClaims(claims).verdict === Result.PASSED, requiredClaims(claims) !== undefined)
  return requiredClaims(claims) !== undefined
}
const values: readonly JsonValue[] = [1, 0, null, true, false, {}, []]

test('issuer, subject and audience are read; one audience is a list of one', () => {
  assert.deepEqual(requiredClaims(good), { issuer: 'https://issuer.test', subject: 'a', audience: ['b'] })
  assert.deepEqual(requiredClaims({ ...good, aud: ['b', 'c'] })?.audience, ['b', 'c'])
})

test('a missing iss, sub or aud is refused', () => {
  for (const name of ['iss', 'sub', 'aud']) {
    const { [name]: _, ...rest } = good as JsonObject
    assert.equal(requiredClaims(rest), undefined, name)
    assert.equal(checkClaims(rest).verdict, Result.FAILED)
  }
  assert.equal(stepOf('claims', checkClaims({})).found, 'iss is missing')
})

test('the message about a wrong claim contains nothing of the token', () => {
  for (const [claims, problem] of [
    [{ iss: 1 }, 'iss is not a string'],
    [{ sub: undefined }, 'sub is missing'],
    [{ sub: ['x'] }, 'sub is not a string'],
    [{ sub: 'x'.repeat(513) }, 'sub is longer than 512 characters'],
    [{ sub: '' }, 'sub is empty'],
    [{ aud: undefined }, 'aud is missing'],
    [{ aud: 1 }, 'aud is not a string'],
    [{ aud: [] }, 'aud is empty'],
    [{ aud: ['b', 1] }, 'a value of aud is not a string'],
    [{ aud: ['x'.repeat(513)] }, 'a value of aud is longer than 512 characters'],
    [{ aud: Array(65).fill('b') }, 'aud has more than 64 values'],
    [{ scopes: Array(17).fill('a') }, 'scopes has more than 16 entries'],
    [{ scopes: ['x'.repeat(513)] }, 'an entry of scopes is longer than 512 characters'],
  ] as const) {
    const given = Object.fromEntries(Object.entries({ ...good, ...claims }).filter(([, value]) => value !== undefined))
    assert.equal(stepOf('claims', checkClaims(given as JsonObject)).found, problem)
  }
})

test('an audience is a string or 1 to 64 strings, and nothing else', () => {
  for (const aud of [...values, ['b', 1], ['b', null], [['b']], [{ aud: 'b' }], { b: 'b' }, ['b', ['b']]]) {
    assert.ok(!passes({ aud }), JSON.stringify(aud))
  }
  assert.ok(passes({ aud: Array(64).fill('b') }))
  assert.ok(!passes({ aud: Array(65).fill('b') }))
})

test('a subject that is a number, null, an object or empty is refused', () => {
  for (const sub of [...values, '', ['a']]) assert.ok(!passes({ sub }), JSON.stringify(sub))
  for (const iss of [...values, ['https://issuer.test']]) assert.ok(!passes({ iss }), JSON.stringify(iss))
})

test('more than 16 scopes or an entry over 512 characters is refused in any case; wrong types only if they are read', () => {
  assert.ok(passes({ scopes: Array(16).fill('a') }))
  assert.ok(!passes({ scopes: Array(17).fill('a') }))
  assert.ok(!passes({ scopes: Array(17).fill(1) }))
  assert.ok(passes({ scopes: ['a'.repeat(512)] }))
  assert.ok(!passes({ scopes: ['a', 'a'.repeat(513)] }))
  for (const scopes of ['a b', 1, null, {}, true, [1], ['a', null], [[]]]) {
    assert.ok(passes({ scopes }), JSON.stringify(scopes))
    assert.equal(scopesOf({ scopes }), undefined, JSON.stringify(scopes))
  }
  for (const token_type of [1, null, true, ['a'], {}]) {
    assert.ok(passes({ token_type }))
    assert.equal(tokenTypeOf({ token_type }), undefined)
  }
  assert.deepEqual([scopesOf({}), scopesOf({ scopes: [] }), scopesOf({ scopes: ['a'] })], [[], [], ['a']])
  assert.deepEqual([tokenTypeOf({}), tokenTypeOf({ token_type: 'a' })], ['', 'a'])
})

test('limits count Unicode characters: 512 that take two units each pass, 513 do not', () => {
  const astral = '\u{1f600}'
  for (const [name, of] of [
    ['sub', (text: string) => text],
    ['aud', (text: string) => text],
    ['aud', (text: string) => ['b', text]],
    ['scopes', (text: string) => [text]],
  ] as const) {
    for (const character of ['a', 'é', astral]) {
      assert.ok(passes({ [name]: of(character.repeat(512)) }), name)
      assert.ok(!passes({ [name]: of(character.repeat(513)) }), name)
    }
    assert.ok(!passes({ [name]: of('a'.repeat(12_000)) }))
  }
})
