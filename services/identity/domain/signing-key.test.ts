import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isAnyDue, KEY_SET_MAX_AGE_MS, keysAfter, nextSigner, type SigningKey, signerAt } from './signing-key.ts'

const NOW = Date.UTC(2026, 0, 1)
const DAY = 86_400_000
/** Maximum lifetime of an access token. */
const TOKEN_MS = 900_000

const candidate = (kid: string) => ({ kid, x: 'x', y: 'y', sealed: new Uint8Array() })
const kidsOf = (keys: readonly SigningKey[] | undefined) => keys?.map(({ kid }) => kid)
const first = keysAfter([], candidate('one'), { now: NOW }) ?? []

test('the very first key signs at once, even if a clock is behind', () => {
  assert.deepEqual(kidsOf(first), ['one'])
  assert.equal(signerAt(first, NOW)?.kid, 'one')
  assert.equal(signerAt(first, NOW - 60_000)?.kid, 'one')
  assert.equal(nextSigner(first, NOW), undefined)
  assert.equal(signerAt([], NOW), undefined)
})

test('a key is published before it signs, for longer than the key set may be kept', () => {
  const keys = keysAfter(first, candidate('two'), { now: NOW, wanted: true }) ?? []
  assert.deepEqual(kidsOf(keys), ['one', 'two'])
  assert.equal(nextSigner(keys, NOW)?.kid, 'two')
  assert.equal(signerAt(keys, NOW + 2 * KEY_SET_MAX_AGE_MS)?.kid, 'one')
  const used = keys[1]?.timeUsed ?? 0
  assert.ok(used > NOW + 2 * KEY_SET_MAX_AGE_MS)
  assert.equal(signerAt(keys, used)?.kid, 'two')
  assert.equal(nextSigner(keys, used), undefined)
})

test('no further key is made while one is upcoming, however often one is requested', () => {
  const keys = keysAfter(first, candidate('two'), { now: NOW, wanted: true }) ?? []
  assert.equal(keysAfter(keys, candidate('three'), { now: NOW + 1, wanted: true }), undefined)
  const used = keys[1]?.timeUsed ?? 0
  assert.deepEqual(kidsOf(keysAfter(keys, candidate('three'), { now: used, wanted: true })), ['one', 'two', 'three'])
})

test('another key begins to sign every 30 days, published in time; after a longer pause the old one signs until then', () => {
  assert.equal(isAnyDue(first, NOW + 29 * DAY), false)
  assert.equal(keysAfter(first, candidate('two'), { now: NOW + 29 * DAY }), undefined)
  for (const now of [NOW + 30 * DAY - KEY_SET_MAX_AGE_MS, NOW + 400 * DAY]) {
    assert.equal(isAnyDue(first, now), true)
    const keys = keysAfter(first, candidate('two'), { now }) ?? []
    assert.equal(signerAt(keys, now + KEY_SET_MAX_AGE_MS)?.kid, 'one')
    assert.equal(isAnyDue(keys, now), false, 'once is enough')
  }
})

test('a key is kept until the last token that it signed has expired, and then goes', () => {
  const keys = keysAfter(first, candidate('two'), { now: NOW, wanted: true }) ?? []
  const used = keys[1]?.timeUsed ?? 0
  const last = used + TOKEN_MS
  assert.equal(isAnyDue(keys, last + KEY_SET_MAX_AGE_MS), false)
  assert.equal(keysAfter(keys, candidate('three'), { now: last + KEY_SET_MAX_AGE_MS }), undefined)
  const late = used + 3 * TOKEN_MS
  assert.equal(isAnyDue(keys, late), true)
  assert.deepEqual(kidsOf(keysAfter(keys, candidate('three'), { now: late })), ['two'])
})
