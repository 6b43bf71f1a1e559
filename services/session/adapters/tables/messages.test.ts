import assert from 'node:assert/strict'
import { test } from 'node:test'
import { create } from '@bufbuild/protobuf'
import { PromptSchema } from '#gen/portico/session/v1/session_pb.js'
import { type MessageRecord, toStoredMessage } from './messages.ts'

const record = (data: string): MessageRecord => ({
  ...{ workspace: 'wrk_1', id: 'msg_1', sessionId: 'ses_1', seq: 1, type: 'user', unfinished: 0, attempt: 0 },
  ...{ timeCreated: 1, data },
})

test('what is stored and is no message of its type cannot be read', () => {
  const message = { type: 'user', id: 'msg_1', timeCreated: 1 }
  const data = JSON.stringify({ ...message, prompt: { text: 'a' } })
  const prompt = create(PromptSchema, { text: 'a' })
  assert.deepEqual(toStoredMessage(record(data), []), { seq: 1, message: { ...message, prompt } })
  for (const data of [
    '{',
    '5',
    '"5"',
    '[]',
    'null',
    '{"type":"user"}',
    '{"type":"user","id":"msg_1"}',
    '{"type":"idle","id":"msg_1"}',
  ]) {
    assert.throws(() => toStoredMessage(record(data), []), SyntaxError, data)
  }
})
