import assert from 'node:assert/strict'
import { test } from 'node:test'
import { idParser, parseRequired, parseText } from '#shared/rpc/parse.ts'

const invalid = (field: string, problem: string) => ({ reason: 'REQUEST_INVALID', metadata: { field, problem } })

test('a text is measured in characters, not in their halves', () => {
  const problem = 'must have 1 to 3 characters'
  for (const text of ['a', '☂☂☂', '😀😀😀']) assert.equal(parseText('name', text, 1, 3), text)
  for (const text of ['', 'abcd', '😀😀😀😀', 'x'.repeat(7)]) {
    assert.throws(() => parseText('name', text, 1, 3), invalid('name', problem))
  }
  assert.equal(parseText('title', '', 0, 3), '')
  assert.throws(() => parseText('title', 'abcd', 0, 3), invalid('title', 'must have at most 3 characters'))
})

test('an id has its prefix, a bounded length and no control characters', () => {
  const problem = 'must start with ses and have at most 128 characters'
  const parse = idParser('session_id', 'ses')
  for (const id of ['ses', 'ses_1', `ses${'x'.repeat(125)}`, `ses${'😀'.repeat(125)}`]) assert.equal(parse(id), id)
  for (const id of ['', 'msg_1', `ses${'x'.repeat(126)}`, 'ses_\n', 'ses\u0085', 'ses\ud83d']) {
    assert.throws(() => parse(id), invalid('session_id', problem))
  }
})

test('a required field is not empty', () => {
  assert.equal(parseRequired('name', ' '), ' ')
  assert.throws(() => parseRequired('name', ''), invalid('name', 'must not be empty'))
})
