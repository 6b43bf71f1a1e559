import assert from 'node:assert/strict'
import test from 'node:test'
import { create, type MessageInitShape } from '@bufbuild/protobuf'
import { FinishReason, type PartSchema } from '#gen/portico/inference/v1/inference_pb.js'
import {
  type GenerationEvent,
  GenerationEventSchema,
  PartStarted_Kind as Kind,
} from '#gen/portico/inference/v1/inference_service_pb.js'
import { wholeOf } from '#test/support/generation.ts'
import { createResponseBody } from '../body.ts'
import { requestEcho } from '../echo.ts'
import { responseEvent } from '../events.ts'
import { fromGeneration } from '../from-generation.ts'
import { ResponsesFold } from './fold.ts'
import { ResponsesFrames } from './frames.ts'

type Init = NonNullable<MessageInitShape<typeof GenerationEventSchema>['event']>
type Json = Record<string, unknown>

const ID = `resp_${'x'.repeat(24)}`
const seed = {
  id: ID,
  createdAt: 1_700_000_000,
  model: 'a/b',
  echo: requestEcho(createResponseBody.parse({ model: 'a/b', input: 'x' })),
}
const seconds = () => 1_700_000_001
const own = (prefix: string, index: number): string => `${prefix}_${'x'.repeat(24)}_${index}`

const event = (init: Init): GenerationEvent => create(GenerationEventSchema, { event: init })
const started = event({ case: 'started', value: { model: 'a/b', providerId: 'a' } })
const begin = (index: number, kind: Kind, callId = '', name = ''): GenerationEvent =>
  event({ case: 'partStarted', value: { index, kind, toolCall: { callId, name } } })
const grow = (index: number, text: string): GenerationEvent => event({ case: 'partExtended', value: { index, text } })
const end = (index: number, part: NonNullable<MessageInitShape<typeof PartSchema>['part']>): GenerationEvent =>
  event({ case: 'partEnded', value: { index, part: { part } } })
const finish = (reason = FinishReason.STOP): GenerationEvent =>
  event({ case: 'finished', value: { reason, costNanos: 0n } })

/** Events of OpenAI's dialect between in_progress and the end, without their numbers; and the response at the end. */
function streamed(...events: GenerationEvent[]): { events: Json[]; output: Json[]; response: Json } {
  const frames = new ResponsesFrames('openai')
  const fold = new ResponsesFold(seed, frames, seconds)
  fold.add([started, ...events])
  const all = frames
    .take()
    .split('\n')
    .filter((line) => line.startsWith('data: {'))
    .map((line) => JSON.parse(line.slice(6)))
  const response = all.at(-1).response
  for (const one of all) responseEvent.parse(one)
  const generation = wholeOf([started, ...events])
  const whole = JSON.parse(JSON.stringify(fromGeneration(seed, generation, seconds())))
  assert.deepEqual(whole, response, 'whole and streamed say the same')
  return { events: all.slice(2, -1).map(({ sequence_number: _, ...rest }) => rest), output: response.output, response }
}

test('a refusal is a part of a message', () => {
  const { events, output, response } = streamed(
    begin(0, Kind.REFUSAL),
    grow(0, 'No.'),
    end(0, { case: 'refusal', value: { text: 'No.' } }),
    finish(),
  )
  const id = own('msg', 0)
  const at = { item_id: id, output_index: 0, content_index: 0 }
  const part = { type: 'refusal', refusal: 'No.' }
  const item = { type: 'message', id, status: 'completed', role: 'assistant', content: [part] }
  const of = { response_id: ID, output_index: 0 }
  assert.deepEqual(events, [
    { type: 'response.output_item.added', ...of, item: { ...item, status: 'in_progress', content: [] } },
    { type: 'response.content_part.added', ...of, ...at, part: { type: 'refusal', refusal: '' } },
    { type: 'response.refusal.delta', ...at, delta: 'No.' },
    { type: 'response.refusal.done', ...at, refusal: 'No.' },
    { type: 'response.content_part.done', ...at, part },
    { type: 'response.output_item.done', ...of, item },
  ])
  assert.deepEqual(output, [item])
  assert.equal(response.output_text, '')
})

test('a thought is sent with its text, and its proof comes with its end', () => {
  const value = { text: 'hm', signature: 'sig', format: 'anthropic-claude-v1' }
  const encrypted_content = 'portico:anthropic-claude-v1:signature:sig'
  const proof = { encrypted_content, signature: 'sig', format: 'anthropic-claude-v1' }
  const { events, output } = streamed(
    begin(0, Kind.REASONING),
    grow(0, 'hm'),
    end(0, { case: 'reasoning', value }),
    finish(),
  )
  const id = own('rs', 0)
  const at = { item_id: id, output_index: 0, content_index: 0 }
  const of = { response_id: ID, output_index: 0 }
  const part = { type: 'reasoning_text', text: 'hm' }
  const item = { type: 'reasoning', id, summary: [], content: [part], ...proof, status: 'completed' }
  assert.deepEqual(events, [
    { type: 'response.output_item.added', ...of, item: { type: 'reasoning', id, summary: [], status: 'in_progress' } },
    { type: 'response.content_part.added', response_id: ID, ...at, part: { ...part, text: '' } },
    { type: 'response.reasoning_text.delta', ...at, delta: 'hm' },
    { type: 'response.reasoning_text.done', ...at, text: 'hm' },
    { type: 'response.content_part.done', ...at, part },
    { type: 'response.output_item.done', ...of, item },
  ])
  assert.deepEqual(output, [item])
})

test('a summary of a thought has events of its own', () => {
  const value = { summary: 'in short' }
  const { events, output } = streamed(
    begin(0, Kind.REASONING_SUMMARY),
    grow(0, 'in short'),
    end(0, { case: 'reasoning', value }),
    finish(),
  )
  const id = own('rs', 0)
  const at = { item_id: id, output_index: 0, summary_index: 0 }
  const of = { response_id: ID, output_index: 0 }
  const part = { type: 'summary_text', text: 'in short' }
  const item = { type: 'reasoning', id, summary: [part], status: 'completed' }
  assert.deepEqual(events, [
    { type: 'response.output_item.added', ...of, item: { type: 'reasoning', id, summary: [], status: 'in_progress' } },
    { type: 'response.reasoning_summary_part.added', ...at, part: { ...part, text: '' } },
    { type: 'response.reasoning_summary_text.delta', ...at, delta: 'in short' },
    { type: 'response.reasoning_summary_text.done', ...at, text: 'in short' },
    { type: 'response.reasoning_summary_part.done', ...at, part },
    { type: 'response.output_item.done', ...of, item },
  ])
  assert.deepEqual(output, [item])
})

test("an encrypted thought keeps the provider's id", () => {
  const format = 'openai-responses-v1'
  const value = { encrypted: 'secret', id: 'rs_theirs', format }
  const { events, output } = streamed(begin(0, Kind.REASONING), end(0, { case: 'reasoning', value }), finish())
  const proof = { encrypted_content: 'secret', format }
  const item = { type: 'reasoning', id: 'rs_theirs', summary: [], ...proof, status: 'completed' }
  assert.deepEqual(
    events.map(({ type }) => type),
    ['response.output_item.added', 'response.output_item.done'],
  )
  assert.deepEqual(output, [item])
})

test('a picture is an item of its own', () => {
  const source = { case: 'data', value: new Uint8Array([0, 1, 2]) } as const
  const { events, output } = streamed(
    begin(0, Kind.IMAGE),
    end(0, { case: 'image', value: { source, mime: 'image/png' } }),
    finish(),
  )
  const item = { type: 'image_generation_call', id: own('ig', 0), result: 'AAEC', status: 'completed' }
  const of = { response_id: ID, output_index: 0 }
  assert.deepEqual(events, [
    { type: 'response.output_item.added', ...of, item: { ...item, result: null, status: 'in_progress' } },
    ...['in_progress', 'generating', 'completed'].map((stage) => {
      return { type: `response.image_generation_call.${stage}`, item_id: item.id, output_index: 0 }
    }),
    { type: 'response.output_item.done', ...of, item },
  ])
  assert.deepEqual(output, [item])
})

test('calls that grow concurrently are sent one by one, in the order in which they began', () => {
  const { events, output } = streamed(
    begin(0, Kind.TOOL_CALL, 'c0', 'f'),
    begin(1, Kind.TOOL_CALL, 'c1', 'g'),
    grow(1, '{'),
    grow(0, '['),
    grow(1, '}'),
    end(1, { case: 'toolCall', value: { callId: 'c1', name: 'g', arguments: '{}' } }),
    grow(0, ']'),
    end(0, { case: 'toolCall', value: { callId: 'c0', name: 'f', arguments: '[]' } }),
    finish(FinishReason.TOOL_CALLS),
  )
  const call = { type: 'function_call', status: 'completed' }
  const first = { ...call, id: own('fc', 0), call_id: 'c0', name: 'f', arguments: '[]' }
  const second = { ...call, id: own('fc', 1), call_id: 'c1', name: 'g', arguments: '{}' }
  const open = { status: 'in_progress', arguments: '' }
  const at = (index: number) => ({ item_id: own('fc', index), output_index: index })
  const of = (index: number) => ({ response_id: ID, output_index: index })
  const delta = 'response.function_call_arguments.delta'
  const done = 'response.function_call_arguments.done'
  assert.deepEqual(events, [
    { type: 'response.output_item.added', ...of(0), item: { ...first, ...open } },
    { type: delta, ...at(0), delta: '[' },
    { type: delta, ...at(0), delta: ']' },
    { type: done, ...at(0), name: 'f', arguments: '[]' },
    { type: 'response.output_item.done', ...of(0), item: first },
    { type: 'response.output_item.added', ...of(1), item: { ...second, ...open } },
    { type: delta, ...at(1), delta: '{}' },
    { type: done, ...at(1), name: 'g', arguments: '{}' },
    { type: 'response.output_item.done', ...of(1), item: second },
  ])
  assert.deepEqual(output, [first, second])
})

test('content withheld by the provider makes the response and its last item incomplete, not the items before', () => {
  const { output, response } = streamed(
    begin(0, Kind.TEXT),
    end(0, { case: 'text', value: { text: 'a' } }),
    begin(1, Kind.TEXT),
    end(1, { case: 'text', value: { text: 'b' } }),
    finish(FinishReason.CONTENT_FILTER),
  )
  assert.equal(response.status, 'incomplete')
  assert.deepEqual(response.incomplete_details, { reason: 'content_filter' })
  assert.deepEqual(
    output.map(({ status }) => status),
    ['completed', 'incomplete'],
  )
})

test('text that needs escaping arrives as it was', () => {
  const text = 'a "quote"\n\u2028 line\u0000 \\ 😀'
  const { events } = streamed(begin(0, Kind.TEXT), grow(0, text), end(0, { case: 'text', value: { text } }), finish())
  assert.equal(events[2]?.delta, text)
})
