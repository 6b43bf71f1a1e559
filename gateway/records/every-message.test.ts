import assert from 'node:assert/strict'
import test from 'node:test'
import { withContents } from '#services/session/rpc/blob-contents.ts'
import { everyMessage, everyMessageJson } from '#test/support/every-message.ts'
import { fromMessage, message as schema } from './message.ts'

const file = { hash: 'a'.repeat(64), size: 3 }
const contents = new Map([[file.hash, Buffer.from('abc')]])

test('a message of every kind has every member, and fits its schema', () => {
  const shown = everyMessage(file).map((message) => fromMessage(withContents(message, contents)))
  const json: unknown[] = JSON.parse(JSON.stringify(shown))
  assert.deepEqual(json, everyMessageJson('YWJj'))
  for (const message of json) assert.deepEqual(schema.safeParse(message).error?.issues, undefined)
})
