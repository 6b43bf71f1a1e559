import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readStrictJson } from './strict-json.ts'

const read = (text: string | Uint8Array) => readStrictJson(Buffer.from(text as string))
const problemOf = (text: string | Uint8Array): string | undefined => {
  const result = read(text)
  return 'problem' in result ? result.problem : undefined
}

test('an object is read as JSON.parse reads it', () => {
  for (const text of [
    '{}',
    ' {"a" : [1, {"a": "b"}, {"a": []}], "b":{"a":null}, "": "", "c": "\\"{[\\\\", "d": "a:b" } ',
    '{"a":"\\ud83d\\ude00 \u{1f600} \\u0000","b":1e5,"constructor":1,"toString":{"valueOf":[]}}',
    '{"list":["a","a",":"],"other":{"list":1}}',
  ]) {
    assert.deepEqual(read(text), { value: JSON.parse(text) }, text)
  }
})

test('a member that is there twice is refused, at any depth and however it is spelled', () => {
  for (const text of [
    '{"sub":"a","sub":"a"}',
    '{"sub":"a","\\u0073ub":"b"}',
    '{"a":[{"b":1,"c":{},"b" \t\r\n:2}]}',
    '{"__proto__":1,"__proto__":2}',
    '{"\\"":1,"\\u0022":2}',
  ]) {
    assert.equal(problemOf(text), 'has a member twice', text)
  }
})

test('a byte order mark, invalid UTF-8 and text that is no JSON object are refused', () => {
  assert.equal(problemOf('\ufeff{}'), 'is not a JSON object')
  assert.equal(problemOf(Uint8Array.of(0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d)), 'is not UTF-8')
  assert.equal(problemOf(Uint8Array.of(0x7b, 0x22, 0xc0, 0xaf, 0x22, 0x3a, 0x31, 0x7d)), 'is not UTF-8')
  for (const text of ['', '[]', '[{}]', 'null', '"a"', '1', '{}{}', '{a:1}', "{'a':1}", '{"a":1,}', '{"a":NaN}']) {
    assert.equal(problemOf(text), 'is not a JSON object', text)
  }
})

test('half of a surrogate pair is refused in names and in values', () => {
  for (const text of ['{"sub":"\\ud800"}', '{"\\udc00":1}', '{"a":["\\ud800a"]}', '{"a":"\\udc00\\ud800"}']) {
    assert.equal(problemOf(text), 'has half of a surrogate pair', text)
  }
  assert.equal(problemOf(Buffer.from('{"sub":"\xed\xa0\x80"}', 'latin1')), 'is not UTF-8')
})

test('32 levels are read and 33 are refused, as are thousands', () => {
  const nested = (depth: number) => `{"a":${'['.repeat(depth - 1)}${']'.repeat(depth - 1)}}`
  assert.equal(problemOf(nested(32)), undefined)
  assert.equal(problemOf(nested(33)), 'is over 32 levels deep')
  assert.equal(problemOf(nested(5000)), 'is over 32 levels deep')
  assert.equal(problemOf(`{"a":[${'[],'.repeat(100)}[]]}`), undefined)
})
