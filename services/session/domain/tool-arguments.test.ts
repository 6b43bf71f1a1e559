import assert from 'node:assert/strict'
import test from 'node:test'
import { parseArguments } from './tool-arguments.ts'

const nested = (levels: number): string => `${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}`

test('arguments are a JSON object, or nothing', () => {
  assert.deepEqual(parseArguments(' '), {})
  assert.deepEqual(parseArguments('{"path":"a"}'), { path: 'a' })
  for (const text of ['{', '[]', 'null', '"x"', '1']) assert.equal(parseArguments(text), undefined, text)
})

test('arguments may nest 24 levels deep, not more, however deep', () => {
  assert.notEqual(parseArguments(nested(24)), undefined)
  for (const levels of [25, 100_000]) assert.equal(parseArguments(nested(levels)), undefined)
  assert.equal(parseArguments(`{"a":${'['.repeat(100_000)}${']'.repeat(100_000)}}`), undefined)
})
