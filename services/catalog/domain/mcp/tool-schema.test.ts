import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { JsonObject, JsonValue } from '#shared/json.ts'
import { readToolSchema, SchemaProblem } from './tool-schema.ts'

test('the schema of a usual tool is passed on unchanged, without its $schema and $id', () => {
  const schema: JsonObject = {
    type: 'object',
    properties: {
      path: { type: 'string', description: 'Where', pattern: '^/', minLength: 1 },
      mode: { anyOf: [{ type: 'string', enum: ['a', 'b'] }, { type: 'null' }], default: null },
      edits: { type: 'array', items: { $ref: '#/$defs/edit' } },
    },
    required: ['path'],
    additionalProperties: false,
    $defs: { edit: { type: 'object', properties: { next: { $ref: '#/$defs/edit' } } } },
  }
  assert.deepEqual(readToolSchema({ $schema: 'http://json-schema.org/draft-07/schema#', $id: 'x', ...schema }), schema)
  assert.deepEqual(readToolSchema({ type: 'object' }), { type: 'object', properties: {} })
  assert.deepEqual(readToolSchema({}), { type: 'object', properties: {} })
})

test('members that a provider would refuse are left out: foreign keywords, wrong values, references to nowhere or elsewhere', () => {
  const properties = {
    a: { type: 'strin', pattern: '(', minimum: '1', unknown: 1 },
    b: { $ref: 'https://example.com/schema' },
    c: { $ref: '#/$defs/none' },
    d: { enum: [], anyOf: ['x'], required: 'a', description: 1 },
    e: 'x',
    f: JSON.parse('{"type":["string","x"],"__proto__":null}'),
  }
  const schema = readToolSchema({
    properties,
    required: ['a', 1, 'a'],
    oneOf: [{}],
    $ref: '#',
  })
  assert.deepEqual(schema, {
    type: 'object',
    properties: { a: {}, b: {}, c: {}, d: {}, f: { type: ['string'] } },
    required: ['a'],
  })
})

test('a pattern that takes for ever is neither tried nor a problem', () => {
  const pattern = '^(a+)+$'
  assert.deepEqual(readToolSchema({ properties: { a: { pattern } } }).properties, { a: { pattern } })
})

test('a schema that is too deep, too large, recursive, or not of an object cannot be offered', () => {
  const deep = (levels: number): JsonValue => (levels === 0 ? {} : { items: deep(levels - 1) })
  const wide = Object.fromEntries(Array.from({ length: 6_000 }, (_, i) => [`p${i}`, {}]))
  const refused: (JsonValue | undefined)[] = [
    ...[undefined, null, true, 'x', [], { type: 'string' }, { properties: { a: deep(50) } }, { properties: wide }],
    { properties: { a: { enum: ['x'.repeat(70_000)] } } },
    { properties: { a: { anyOf: [{ $ref: '#/$defs/b' }] } }, $defs: { b: { $ref: '#/properties/a' } } },
  ]
  for (const schema of refused) {
    assert.throws(() => readToolSchema(schema), SchemaProblem)
  }
  assert.ok(readToolSchema({ properties: { a: deep(15) } }))
})
