import assert from 'node:assert/strict'
import test from 'node:test'
import { create, type MessageInitShape } from '@bufbuild/protobuf'
import { MessageSchema, PartSchema } from '#gen/portico/inference/v1/inference_pb.js'
import { plain } from '#test/support/inference.ts'
import { createResponseBody } from './body.ts'
import { fromPart } from './from-part.ts'
import type { OutputItem } from './output.ts'
import { toMessages } from './to-messages.ts'

type Init = NonNullable<MessageInitShape<typeof PartSchema>['part']>
const place = { responseId: `resp_${'x'.repeat(24)}`, index: 0 }
const source = { partIndex: 0, url: 'https://a', title: 'A', start: 0, end: 1, citedText: 'cited' }
const anthropic = 'anthropic-claude-v1'

/** Whatever a generation may hold. */
const PARTS: readonly Init[] = [
  { case: 'text', value: { text: 'Hi' } },
  { case: 'text', value: { text: 'I look.', phase: 'commentary' } },
  { case: 'refusal', value: { text: 'No.', phase: 'final_answer' } },
  { case: 'reasoning', value: { text: 'hm', signature: 's', format: anthropic } },
  { case: 'reasoning', value: { encrypted: 'e', format: anthropic } },
  { case: 'reasoning', value: { summary: 'short', encrypted: 'e', id: 'rs_1', format: 'openai-responses-v1' } },
  { case: 'reasoning', value: { encrypted: 'e', id: 'rs_1', format: 'openai-responses-v1' } },
  { case: 'reasoning', value: { encrypted: 'e' } },
  {
    case: 'toolCall',
    value: { callId: 'c', name: 'f', arguments: '{"a":1}', signature: 's', format: 'google-gemini-v1' },
  },
  { case: 'toolCall', value: { callId: 'c', name: 'f', arguments: '{}', namespace: 'n' } },
  { case: 'toolCall', value: { callId: 'c', name: 'f', arguments: 'any text', custom: true, namespace: 'n' } },
  { case: 'image', value: { source: { case: 'data', value: Buffer.from([0, 1, 2]) }, mime: 'image/png' } },
  {
    case: 'foreign',
    value: { format: 'openai-responses-v1', item: { type: 'web_search_call', id: 'ws_1', action: { a: [1] } } },
  },
  { case: 'foreign', value: { format: 'openai-responses-v1', item: { type: 'nobody_knows', id: 'x' } } },
  {
    case: 'foreign',
    value: { format: anthropic, item: { type: 'server_tool_use', id: 'st_1', input: { q: '\u2028' } } },
  },
]

/** The part that an item comes back as. */
function back(item: OutputItem): unknown {
  const { input } = createResponseBody.parse({ model: 'm', input: [JSON.parse(JSON.stringify(item))] })
  return plain(create(MessageSchema, toMessages({ input }).messages[0]).parts[0])
}

test('every item that is emitted is accepted back unchanged', () => {
  for (const init of PARTS) {
    const part = create(PartSchema, { part: init })
    const expected = plain(part) as { part: { case: string; value: Record<string, unknown> } }
    // The id of a thought with words is the response's own.
    if (init.case === 'reasoning' && 'summary' in init.value) delete expected.part.value.id
    assert.deepEqual(
      back(fromPart(place, part, 'completed')),
      expected,
      JSON.stringify(fromPart(place, part, 'completed')),
    )
  }
})

test('sources of a text come back with it', () => {
  const part = create(PartSchema, { part: { case: 'text', value: { text: 'Hi' } } })
  const item = fromPart(place, part, 'completed', {
    sources: [{ $typeName: 'portico.inference.v1.Source', ...source }],
  })
  const returned = back(item) as { part: { value: { sources: unknown[] } } }
  assert.deepEqual(returned.part.value.sources, [{ ...source }])
})

test('a file that a text cites comes back with its position', () => {
  const part = create(PartSchema, { part: { case: 'text', value: { text: 'Hi' } } })
  const file = { partIndex: 0, fileId: 'file_1', fileName: 'a.md', start: 1 }
  const item = fromPart(place, part, 'completed', { sources: [{ $typeName: 'portico.inference.v1.Source', ...file }] })
  const returned = back(item) as { part: { value: { sources: unknown[] } } }
  assert.deepEqual(returned.part.value.sources, [{ ...file }])
})

test('a client that keeps only the encrypted form of a thought keeps its maker', () => {
  for (const [value, kept] of [
    [
      { text: 'hm', signature: 's', format: anthropic },
      { signature: 's', format: anthropic },
    ],
    [
      { encrypted: 'e', format: anthropic },
      { encrypted: 'e', format: anthropic },
    ],
    [{ encrypted: 'e' }, { encrypted: 'e' }],
  ] as const) {
    const part = create(PartSchema, { part: { case: 'reasoning', value } })
    const item = fromPart(place, part, 'completed') as { encrypted_content?: string }
    const { encrypted_content } = item
    const returned = back({
      type: 'reasoning',
      id: 'rs_x',
      summary: [],
      status: 'completed',
      ...{ encrypted_content },
    } as OutputItem)
    assert.deepEqual(returned, { part: { case: 'reasoning', value: { ...kept, id: 'rs_x' } } })
  }
})
