import assert from 'node:assert/strict'
import { test } from 'node:test'
import { wellFormed } from './well-formed.ts'

test('halves of surrogate pairs are replaced in texts and names, wherever they are', () => {
  const value = { a: ['x\ud83d', { '\ude00b': '😀' }], c: [1, true, null] }
  assert.deepEqual(wellFormed(value), { a: ['x\ufffd', { '\ufffdb': '😀' }], c: [1, true, null] })
  assert.equal(wellFormed('\udc00'), '\ufffd')
})

test('a value without halves of surrogate pairs is returned itself', () => {
  const value = JSON.parse('{"__proto__":{"a":"😀"},"b":[]}')
  assert.equal(wellFormed(value), value)
})
