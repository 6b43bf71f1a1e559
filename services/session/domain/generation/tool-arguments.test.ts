import assert from 'node:assert/strict'
import test from 'node:test'
import { parseArguments } from './tool-arguments.ts'

const nested = (levels: number): string => `${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}`

test('arguments are a JSON object, or nothing', () => {
  assert.deepEqual(parseArguments(' '), { input: {} })
  assert.deepEqual(parseArguments('{"path":"a"}'), { input: { path: 'a' } })
  for (const text of ['{', '[]', 'null', '"x"', '1'])
    assert.deepEqual(parseArguments(text), { problem: 'The arguments of the call are not a JSON object' }, text)
})

test('arguments may nest 24 levels deep, not more, however deep', () => {
  const problem = 'The arguments of the call are nested more than 24 levels deep'
  assert.equal(parseArguments(nested(24)).problem, undefined)
  for (const levels of [25, 100_000]) assert.deepEqual(parseArguments(nested(levels)), { problem })
  assert.deepEqual(parseArguments(`{"a":${'['.repeat(100_000)}${']'.repeat(100_000)}}`), { problem })
})

test('arguments may have 1,048,576 characters, not more, spaces included', () => {
  const whole = `{"content":"${'x'.repeat(1_048_576 - 14)}"}`
  assert.equal(parseArguments(whole).problem, undefined)
  const problem = 'The arguments of the call are longer than 1048576 characters'
  for (const text of [`${whole} `, ' '.repeat(1_048_577), `[${'0,'.repeat(10_000_000)}`]) {
    assert.deepEqual(parseArguments(text), { problem })
  }
})

test('arguments may have 50,000 members and items, not more', () => {
  const items = (count: number): string => `{"a":[${Array(count).fill('[]').join()}]}`
  assert.equal(parseArguments(items(49_999)).problem, undefined)
  const problem = 'The arguments of the call have more than 50000 members and items'
  assert.deepEqual(parseArguments(items(50_000)), { problem })
})

test('arguments contain nothing that an import of the session would refuse', () => {
  for (const [text, what] of [
    ['{"a":["\\ud83d"]}', 'a string with a lone surrogate'],
    ['{"a":{"\\ude00":1}}', 'a member whose name has a lone surrogate or NUL'],
    ['{"a\\u0000":1}', 'a member whose name has a lone surrogate or NUL'],
    ['{"a":[{"__proto__":{}}]}', 'a member called __proto__'],
    ['{"a":-1e999}', 'a number that is too large'],
  ] as const) {
    assert.deepEqual(parseArguments(text), { problem: `The arguments of the call have ${what}` }, text)
  }
  assert.deepEqual(parseArguments('{"a":"\\ud83d\\ude00\\u0000"}'), { input: { a: '😀\0' } })
})
