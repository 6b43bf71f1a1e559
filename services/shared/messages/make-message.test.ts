// For every message of every service, `makeMessage` makes what `create` makes.
import assert from 'node:assert/strict'
import { readdirSync } from 'node:fs'
import { test } from 'node:test'
import { create, type DescField, type DescFile, type DescMessage, ScalarType } from '@bufbuild/protobuf'
import { nestedTypes } from '@bufbuild/protobuf/reflect'
import { FileDescriptorProtoSchema, ValueSchema } from '@bufbuild/protobuf/wkt'
import fc from 'fast-check'
import { makeMessage } from './make-message.ts'

/** How deeply the generated messages are nested. */
const DEPTH = 3

const folder = new URL('../../../gen/', import.meta.url)
const files = readdirSync(folder, { recursive: true }).filter((name) => String(name).endsWith('_pb.js'))
const messages: DescMessage[] = [ValueSchema, FileDescriptorProtoSchema]
for (const file of files) {
  const module = (await import(new URL(String(file), folder).href)) as Readonly<Record<string, unknown>>
  const described = Object.entries(module).find(([name]) => name.startsWith('file_'))?.[1] as DescFile
  for (const type of nestedTypes(described)) if (type.kind === 'message') messages.push(type)
}

const nothing = fc.constantFrom(undefined, null)

function initOf(message: DescMessage, depth: number): fc.Arbitrary<Record<string, unknown>> {
  const members = message.members.map((member) => {
    if (member.kind === 'field') return [member.localName, fc.oneof(nothing, fieldOf(member, depth))] as const
    const cases = member.fields.map((field) =>
      fc.record({ case: fc.constant(field.localName), value: fieldOf(field, depth) }),
    )
    return [
      member.localName,
      fc.oneof(nothing, fc.constant({ case: undefined }), fc.constant({ case: 'other' }), ...cases),
    ] as const
  })
  const given = fc.record({ ...Object.fromEntries(members), unknownMember: fc.constant(1) }, { requiredKeys: [] })
  return fc.oneof(
    { weight: 4, arbitrary: given },
    // An existing message is passed on as it is.
    { weight: 1, arbitrary: given.map((init) => create(message, init)) },
  )
}

function fieldOf(field: DescField, depth: number): fc.Arbitrary<unknown> {
  const value = valuesOf(field, depth)
  if (field.fieldKind === 'list') return fc.array(value, { maxLength: 2 })
  if (field.fieldKind === 'map') return fc.dictionary(fc.constantFrom('a', 'b', '__proto__'), value, { maxKeys: 2 })
  return value
}

function valuesOf(field: DescField, depth: number): fc.Arbitrary<unknown> {
  if (field.message !== undefined) {
    if (field.message.typeName === 'google.protobuf.Struct') return fc.constant({ a: { b: [1] } })
    return depth === 0 ? fc.constant({}) : initOf(field.message, depth - 1)
  }
  if (field.scalar === undefined) return fc.integer({ min: 0, max: 3 })
  if (field.scalar === ScalarType.BYTES) return fc.constantFrom(new Uint8Array([1]), [1, 2])
  if (field.scalar === ScalarType.BOOL) return fc.boolean()
  if (field.scalar === ScalarType.STRING) return fc.string({ maxLength: 3 })
  const is64 = [ScalarType.INT64, ScalarType.UINT64, ScalarType.SINT64, ScalarType.FIXED64, ScalarType.SFIXED64]
  return is64.includes(field.scalar) ? fc.bigInt({ min: 0n, max: 9n }) : fc.integer({ min: 0, max: 9 })
}

test('the result is always what `create` makes', () => {
  assert.ok(messages.length > 100)
  for (const message of messages) {
    assert.deepEqual(makeMessage(message, undefined), create(message), message.typeName)
    fc.assert(
      fc.property(initOf(message, DEPTH), (init) => {
        assert.deepEqual(makeMessage(message, init), create(message, init), message.typeName)
      }),
      { numRuns: 20 },
    )
  }
})
