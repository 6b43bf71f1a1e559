import assert from 'node:assert/strict'
import { test } from 'node:test'
import { create, fromBinary, toBinary } from '@bufbuild/protobuf'
import { ToolFileSchema } from '#gen/portico/catalog/v1/catalog_pb.js'
import { ImportSessionRequestSchema } from '#gen/portico/session/v1/session_service_pb.js'
import { messagePieces } from '#shared/http2/message-pieces.ts'

test('long bytes of a message are a piece of their own, not a copy, and the pieces together are the message', () => {
  const data = new Uint8Array(1_000_000).fill(7)
  const message = create(ImportSessionRequestSchema, { directory: '/a', messages: data })
  const pieces = messagePieces(ImportSessionRequestSchema, message)
  assert.ok(pieces.some((piece) => piece === data))
  const read = fromBinary(ImportSessionRequestSchema, Buffer.concat(pieces))
  assert.deepEqual([read.directory, read.messages.length], ['/a', data.length])
  assert.ok(Buffer.from(read.messages).equals(data))
  assert.equal(message.messages, data)
})

test('neither few bytes nor a long text is a piece of its own', () => {
  for (const size of [0, 1, 65_536]) {
    const message = create(ImportSessionRequestSchema, { messages: new Uint8Array(size).fill(1) })
    const pieces = messagePieces(ImportSessionRequestSchema, message)
    assert.deepEqual(pieces.map(Buffer.from), [Buffer.from(toBinary(ImportSessionRequestSchema, message))])
  }
  const file = create(ToolFileSchema, { mime: 'image/png', source: { case: 'uri', value: 'x'.repeat(100_000) } })
  assert.equal(messagePieces(ToolFileSchema, file).length, 1)
})
