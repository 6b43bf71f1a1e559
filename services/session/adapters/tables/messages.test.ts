import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type MessageRecord, toStoredMessage } from './messages.ts'

const record = (data: string): MessageRecord => ({
  ...{ workspace: 'wrk_1', id: 'msg_1', sessionId: 'ses_1', seq: 1, type: 'user', unfinished: 0, attempt: 0 },
  ...{ timeCreated: 1, data },
})

test('what is stored and is no message of its type cannot be read', () => {
  const message = { type: 'user', id: 'msg_1', timeCreated: 1 }
  assert.deepEqual(toStoredMessage(record(JSON.stringify(message)), []), { seq: 1, message })
  for (const data of ['{', '5', '"5"', '[]', 'null', '{"type":"user"}', '{"type":"idle","id":"msg_1"}']) {
    assert.throws(() => toStoredMessage(record(data), []), SyntaxError, data)
  }
})
