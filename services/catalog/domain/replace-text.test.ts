import assert from 'node:assert/strict'
import { test } from 'node:test'
import { MAX_REPLACED_LENGTH, replaceText } from './replace-text.ts'

test('replaces a passage that is there once, literally', () => {
  assert.deepEqual(replaceText('a.b', '.', '$&', false), { type: 'replaced', text: 'a$&b', count: 1 })
})

test('refuses a passage that is there several times, unless all are meant', () => {
  assert.deepEqual(replaceText('aXbXc', 'X', 'Y', false), { type: 'ambiguous', count: 2 })
  assert.deepEqual(replaceText('aXbXc', 'X', 'Y', true), { type: 'replaced', text: 'aYbYc', count: 2 })
})

test('reports when the passage is missing', () => {
  assert.deepEqual(replaceText('abc', 'X', 'Y', true), { type: 'missing' })
})

test('a file with \\r\\n keeps it when the passage is given with \\n', () => {
  const result = replaceText('a\r\nb\r\nc', 'a\nb', 'x\ny\nz', false)
  assert.deepEqual(result, { type: 'replaced', text: 'x\r\ny\r\nz\r\nc', count: 1 })
})

test('refuses a result that would be too long, before it is made', () => {
  const text = 'x'.repeat(MAX_REPLACED_LENGTH)
  assert.deepEqual(replaceText(text, 'x', 'y'.repeat(1_000_000), true), { type: 'too-long' })
  assert.equal(replaceText(text, 'x', 'y', true).type, 'replaced')
})
