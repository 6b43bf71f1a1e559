import assert from 'node:assert/strict'
import { test } from 'node:test'
import { messageOf } from '#services/session/domain/message.ts'
import { type MessageRecord, messageRecord, toStoredMessage } from './messages.ts'

test('refuses a stored message that is not of its kind', () => {
  const message = messageOf({ messageId: 'msg_1', createTime: 1 }, 'user', { text: 'Hi' })
  const record: MessageRecord = messageRecord('wrk_1', 'ses_1', { type: 'insert', seq: 1, message })
  assert.deepEqual(toStoredMessage(record, []), { seq: 1, message })
  for (const data of ['{', '5', '"5"', '[]', 'null', '{}', '{"user":{}}', '{"messageId":"msg_1","idle":{}}']) {
    assert.throws(() => toStoredMessage({ ...record, data }, []), SyntaxError, data)
  }
})
