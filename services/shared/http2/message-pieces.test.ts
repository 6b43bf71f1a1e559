import assert from 'node:assert/strict'
import { test } from 'node:test'
import { create, fromBinary, toBinary } from '@bufbuild/protobuf'
import { ToolFileSchema } from '#gen/portico/catalog/v1/catalog_pb.js'
import { PutImportedContentRequestSchema } from '#gen/portico/session/v1/session_service_pb.js'
import { messagePieces } from '#shared/http2/message-pieces.ts'

test('many bytes of a message are a piece of their own, not a copy, and the pieces together are the message', () => {
  const data = new Uint8Array(1_000_000).fill(7)
  const message = create(PutImportedContentRequestSchema, { import: { sessionId: 'ses_1', key: 'k' }, data })
  const pieces = messagePieces(PutImportedContentRequestSchema, message)
  assert.ok(pieces.some((piece) => piece === data))
  const read = fromBinary(PutImportedContentRequestSchema, Buffer.concat(pieces))
  assert.deepEqual([read.import?.sessionId, read.import?.key, read.data.length], ['ses_1', 'k', data.length])
  assert.ok(Buffer.from(read.data).equals(data))
  assert.equal(message.data, data)
})

test('few bytes are not apart, nor are long texts', () => {
  for (const size of [0, 1, 65_536]) {
    const message = create(PutImportedContentRequestSchema, { data: new Uint8Array(size).fill(1) })
    const pieces = messagePieces(PutImportedContentRequestSchema, message)
    assert.deepEqual(pieces.map(Buffer.from), [Buffer.from(toBinary(PutImportedContentRequestSchema, message))])
  }
  const file = create(ToolFileSchema, { mime: 'image/png', uri: 'x'.repeat(100_000) })
  assert.equal(messagePieces(ToolFileSchema, file).length, 1)
})
