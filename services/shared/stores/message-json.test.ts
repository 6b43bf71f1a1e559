import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  create,
  type DescField,
  type DescMessage,
  equals,
  fromJson,
  type Message,
  ScalarType,
} from '@bufbuild/protobuf'
import { file_portico_catalog_v1_catalog } from '#gen/portico/catalog/v1/catalog_pb.js'
import { file_portico_identity_v1_federation } from '#gen/portico/identity/v1/federation_pb.js'
import { file_portico_inference_v1_inference } from '#gen/portico/inference/v1/inference_pb.js'
import { file_portico_session_v1_event } from '#gen/portico/session/v1/event_pb.js'
import { AssistantPartSchema, file_portico_session_v1_message } from '#gen/portico/session/v1/message_pb.js'
import { fromStoredJson, toStoredJson } from './message-json.ts'

const SCHEMAS = [
  file_portico_catalog_v1_catalog,
  file_portico_identity_v1_federation,
  file_portico_inference_v1_inference,
  file_portico_session_v1_event,
  file_portico_session_v1_message,
].flatMap(({ messages }) => messages)

/** A message with a value in each of its members, and of each of its oneofs the member that `choose` picks. */
function filled(schema: DescMessage, choose: (count: number) => number, levels = 4): Message {
  const chosen = schema.oneofs.map(({ fields }) => fields[choose(fields.length)])
  const fields = schema.fields.filter((field) => field.oneof === undefined || chosen.includes(field))
  const init: Record<string, unknown> = {}
  for (const field of fields) {
    if (field.message !== undefined && levels === 0) continue
    if (field.message?.typeName === 'google.protobuf.Timestamp') continue
    const value = memberOf(field, choose, levels)
    if (field.oneof === undefined) init[field.localName] = value
    else init[field.oneof.localName] = { case: field.localName, value }
  }
  return create(schema, init)
}

function memberOf(field: DescField, choose: (count: number) => number, levels: number): unknown {
  const one = (): unknown => {
    if (field.message?.typeName === 'google.protobuf.Struct') return { a: [1, 'b', null], $typeName: 'c', d: {} }
    if (field.message !== undefined) return filled(field.message, choose, levels - 1)
    if (field.enum !== undefined) return field.enum.values.at(-1)?.number
    if (field.scalar === ScalarType.BYTES) return new Uint8Array([0, 255, 7])
    if (field.scalar === ScalarType.INT64) return -9_007_199_254_740_993n
    if (field.scalar === ScalarType.BOOL) return true
    return field.scalar === ScalarType.STRING ? 'ä"' : 7
  }
  if (field.fieldKind === 'list') return [one(), one()]
  return field.fieldKind === 'map' ? { 1: one() } : one()
}

test('a message comes back as it was, whatever its members are, and is JSON of protobuf', () => {
  for (const schema of SCHEMAS) {
    const most = Math.max(1, ...schema.oneofs.map(({ fields }) => fields.length))
    for (let nth = 0; nth < most; nth++) {
      for (const message of [filled(schema, (count) => nth % count), create(schema)]) {
        const json = JSON.parse(JSON.stringify(toStoredJson(schema, message)))
        assert.ok(equals(schema, fromStoredJson(schema, json), message), schema.typeName)
        assert.ok(equals(schema, fromJson(schema, json), message), schema.typeName)
      }
    }
  }
})

test('an optional member with a default value comes back, and one that is absent stays absent', () => {
  const part = create(AssistantPartSchema, { part: { case: 'reasoning', value: { text: '', createTime: 0 } } })
  assert.deepEqual(toStoredJson(AssistantPartSchema, part), { reasoning: { createTime: 0 } })
  assert.deepEqual(fromStoredJson(AssistantPartSchema, { reasoning: { createTime: 0 } }), part)
})

test('refuses JSON that is not of the message', () => {
  for (const json of [null, 'text', [], { text: 7 }, { text: { text: 7 } }, { tool: { content: {} } }]) {
    assert.throws(() => fromStoredJson(AssistantPartSchema, json), SyntaxError, JSON.stringify(json))
  }
})
