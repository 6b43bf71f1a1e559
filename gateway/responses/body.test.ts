import assert from 'node:assert/strict'
import test from 'node:test'
import { z } from 'zod'
import { createResponseBody } from './body.ts'

interface Schema {
  readonly description?: string
  readonly [name: string]: unknown
}

/** Paths of the objects whose members the schema does not name, and why. */
function freeForm(schema: unknown, path = ''): Record<string, string | undefined> {
  if (typeof schema !== 'object' || schema === null) return {}
  const { additionalProperties, description } = schema as Schema
  const open = typeof additionalProperties === 'object' && Object.keys(additionalProperties as object).length === 0
  const below = Object.entries(schema).map(([name, inner]) =>
    freeForm(inner, /^\d+$|^(anyOf|oneOf|properties)$/.test(name) ? path : `${path}.${name}`),
  )
  return Object.assign(open ? { [path]: description } : {}, ...below)
}

test('the schema names every member but those that the contract leaves open', () => {
  const schema = z.toJSONSchema(createResponseBody, { io: 'input' })
  assert.deepEqual(freeForm(schema), {
    '.tools.items.parameters': 'A JSON Schema, interpreted by the provider.',
    '.$defs.TextFormat.schema': 'A JSON Schema, interpreted by the provider.',
    '.$defs.Plugin.tools.items.parameters': 'Each server tool has settings of its own.',
    '.$defs.Plugin.x_search': 'Filters for a search on X.',
    '.tools.items': 'Settings of the tool, interpreted by the provider that runs it.',
    '.tools.items.tools.items.parameters': 'A JSON Schema, interpreted by the provider.',
    '.input.items': 'The unchanged item, interpreted by the provider that made it.',
    '.input.items.tools.items': 'Settings of the tool, interpreted by the provider that runs it.',
    '.input.items.tools.items.parameters': 'A JSON Schema, interpreted by the provider.',
    '.input.items.tools.items.tools.items.parameters': 'A JSON Schema, interpreted by the provider.',
    '.trace': 'Other members pass through to the span of the request.',
    '.x_search_filter': 'The posts that a search on X covers.',
    '.$defs.ToolChoice': 'The choice, interpreted by the provider that runs the tool.',
    '.$defs.ToolChoice.tools.items': 'The choice, interpreted by the provider that runs the tool.',
    '.image_config': 'Each image model has settings of its own.',
  })
  // The model may also be the first of `models`: one of the two is required.
  assert.deepEqual(schema.required, ['input'])
})

test('checking converts nothing: what comes out is what went in, without unknown members', () => {
  const body = {
    model: 'm',
    input: [
      { role: 'assistant', content: null },
      { role: 'user', content: [{ type: 'input_file', file_url: 'https://e', filename: null }] },
      { type: 'function_call', call_id: 'c', name: 'f', arguments: ' {}', status: null },
    ],
    tools: [{ type: 'function', name: 'f', parameters: { enum: [1, null, { a: [] }] } }],
    tool_choice: { type: 'allowed_tools', mode: 'auto', tools: [{ type: 'function', name: 'f' }] },
    provider: { sort: { by: 'price', partition: null }, max_price: null, zdr: true, only: ['a'] },
    trace: { trace_id: 't', mine: [1] },
    metadata: { a: '' },
    prompt: null,
  }
  assert.deepEqual(createResponseBody.parse({ ...body, nobody: 'knows' }), body)
})
