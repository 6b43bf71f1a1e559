import assert from 'node:assert/strict'
import { test } from 'node:test'
import { GrowingText } from './growing-text.ts'

test('a text is the same however many pieces it came in, and whenever it was read', () => {
  for (const pieces of [0, 1, 63, 64, 65, 1_000]) {
    for (const readEach of [1, 7, 2_000]) {
      const text = new GrowingText()
      let expected = ''
      for (let i = 0; i < pieces; i++) {
        text.add(`${i},`)
        expected += `${i},`
        if (i % readEach === 0) assert.equal(text.toString(), expected)
      }
      assert.equal(text.toString(), expected)
    }
  }
})

test('a text is empty until something is added to it', () => {
  const text = new GrowingText()
  text.add('')
  assert.equal(text.isEmpty, true)
  text.add('a')
  assert.equal(text.isEmpty, false)
})
