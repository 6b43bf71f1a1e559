import assert from 'node:assert/strict'
import { test } from 'node:test'
import { checkSchema } from './tool-schema.ts'

const LOOPS = [
  { $ref: '#' },
  { anyOf: [{}, { not: { $ref: '#' } }] },
  { properties: { a: { $ref: '#/properties/a' } } },
  { properties: { a: { allOf: [{ $ref: '#/$defs/b~1c' }] } }, $defs: { 'b/c': { if: { $ref: '#/properties/a' } } } },
  { $anchor: 'a', allOf: [{ $ref: '#a' }] },
  { $dynamicAnchor: 'a', not: { $dynamicRef: '#a' } },
  { $recursiveRef: '#' },
  { properties: { a: { $ref: '#/%70roperties/a' } } },
]

const TREES = [
  { properties: { child: { $ref: '#' } } },
  { $defs: { list: { items: { $ref: '#/$defs/list' } } }, properties: { a: { $ref: '#/$defs/list' } } },
  { $dynamicAnchor: 'a', properties: { child: { $dynamicRef: '#a' } } },
  { allOf: [{ $ref: '#/$defs/a' }, { $ref: '#/$defs/a' }], $defs: { a: {} } },
]

test('a schema that refers to itself for the same value is refused, and one that does so for a part of it is not', () => {
  for (const loop of LOOPS) {
    assert.throws(() => checkSchema({ type: 'object', ...loop }, 'it'), /it has a reference to itself/)
  }
  for (const tree of TREES)
    assert.deepEqual(checkSchema({ type: 'object', ...tree }, 'it'), { type: 'object', ...tree })
})
