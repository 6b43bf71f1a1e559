import assert from 'node:assert/strict'
import test from 'node:test'
import { create, type MessageInitShape } from '@bufbuild/protobuf'
import { FinishReason, type PartSchema } from '#gen/portico/inference/v1/inference_pb.js'
import {
  type GenerationEvent,
  GenerationEventSchema,
  PartStarted_Kind as Kind,
} from '#gen/portico/inference/v1/inference_service_pb.js'
import { asJson, wholeOf } from '#test/support/generation.ts'
import { eventsOf, messageOf } from '#test/support/messages.ts'
import type { Json } from '#test/support/responses.ts'
import { messageEvent } from '../events.ts'
import { fromGeneration } from '../from-generation.ts'
import { MessagesFold } from './fold.ts'
import { MessageFrames } from './frames.ts'

type Init = NonNullable<MessageInitShape<typeof GenerationEventSchema>['event']>

const seed = { id: `msg_${'x'.repeat(24)}`, speed: null }
const event = (init: Init): GenerationEvent => create(GenerationEventSchema, { event: init })
const started = event({ case: 'started', value: { model: 'a/b', providerId: 'a' } })
type Started = Extract<Init, { readonly case: 'partStarted' }>['value']
const begin = (index: number, kind: Kind, more: Started = {}) =>
  event({ case: 'partStarted', value: { ...more, index, kind } })
const grow = (index: number, text: string): GenerationEvent => event({ case: 'partExtended', value: { index, text } })
const end = (index: number, part: NonNullable<MessageInitShape<typeof PartSchema>['part']>): GenerationEvent =>
  event({ case: 'partEnded', value: { index, part: { part } } })
const finish = (reason = FinishReason.STOP, more: { rawReason?: string; stopText?: string } = {}): GenerationEvent =>
  event({ case: 'finished', value: { reason, ...more } })

/**
 * The events of a stream between its start and its end, and the message, which has to be that of the whole generation.
 */
function streamed(...events: GenerationEvent[]): { events: Json[]; message: Json } {
  const frames = new MessageFrames()
  const fold = new MessagesFold(seed, frames, () => undefined)
  for (const one of [started, ...events]) fold.add([one])
  const all = eventsOf(frames.take())
  for (const one of all) messageEvent.parse(one)
  const generation = wholeOf([started, ...events])
  generation.providerId = 'a'
  const message = messageOf(all)
  assert.deepEqual(asJson(fromGeneration(seed, generation)), message, 'whole and streamed say the same')
  return { events: all.slice(2, -2), message }
}

test('calls with interleaved arguments are blocks one after the other', () => {
  const call = (callId: string, toolName: string, args: string) =>
    ({ case: 'toolCall', value: { callId, name: toolName, arguments: args } }) as const
  const { events, message } = streamed(
    begin(0, Kind.TEXT),
    grow(0, 'Both'),
    begin(1, Kind.TOOL_CALL, { toolCall: { callId: 'c1', name: 'f' } }),
    begin(2, Kind.TOOL_CALL, { toolCall: { callId: 'c2', name: 'g' } }),
    grow(1, '{"a":'),
    grow(2, '{}'),
    end(2, call('c2', 'g', '{}')),
    end(0, { case: 'text', value: { text: 'Both' } }),
    grow(1, '1}'),
    end(1, call('c1', 'f', '{"a":1}')),
    finish(FinishReason.TOOL_CALLS),
  )
  assert.deepEqual(
    events.map(({ type, index }) => `${type.replace('content_block_', '')} ${index}`),
    ['start 0', 'delta 0', 'stop 0', 'start 1', 'delta 1', 'delta 1', 'stop 1', 'start 2', 'delta 2', 'stop 2'],
  )
  assert.deepEqual(message.content.slice(1), [
    { type: 'tool_use', id: 'c1', name: 'f', input: { a: 1 } },
    { type: 'tool_use', id: 'c2', name: 'g', input: {} },
  ])
  assert.equal(message.stop_reason, 'tool_use')
})

test('the proof of a call stands in the first event of its block', () => {
  const proof = { signature: 'sig', format: 'google-gemini-v1' }
  const { events, message } = streamed(
    begin(0, Kind.TOOL_CALL, { toolCall: { callId: 'c', name: 'f', ...proof } }),
    grow(0, '{}'),
    end(0, { case: 'toolCall', value: { callId: 'c', name: 'f', arguments: '{}', ...proof } }),
    finish(FinishReason.TOOL_CALLS),
  )
  const block = { type: 'tool_use', id: 'c', name: 'f', input: {}, ...proof }
  assert.deepEqual([events[0]?.content_block, message.content], [block, [block]])
})

test('a thought of another kind of provider carries its kind in its opaque text; one without words is hidden', () => {
  const format = 'openai-responses-v1'
  const { message } = streamed(
    begin(0, Kind.REASONING_SUMMARY),
    grow(0, 'So'),
    end(0, { case: 'reasoning', value: { summary: 'So', encrypted: 'E', id: 'rs_1', format } }),
    begin(1, Kind.REASONING),
    end(1, { case: 'reasoning', value: { encrypted: 'F', format } }),
    begin(2, Kind.REASONING),
    end(2, { case: 'reasoning', value: { encrypted: 'G', format: 'anthropic-claude-v1' } }),
    begin(3, Kind.REASONING),
    grow(3, 'raw'),
    end(3, { case: 'reasoning', value: { text: 'raw' } }),
    finish(),
  )
  const sealed = (proof: object): string => `portico:${format}:${JSON.stringify(proof)}`
  assert.deepEqual(message.content, [
    { type: 'thinking', thinking: 'So', signature: sealed({ encrypted: 'E', id: 'rs_1', summary: true }) },
    { type: 'redacted_thinking', data: sealed({ encrypted: 'F', summary: true }) },
    { type: 'redacted_thinking', data: 'G' },
    { type: 'thinking', thinking: 'raw', signature: '' },
  ])
})

test('pictures, files and items are sent whole, those of others hidden; empty texts are not blocks', () => {
  const item = { type: 'server_tool_use', id: 's', name: 'web_search', input: { query: 'q' } }
  const { events, message } = streamed(
    begin(0, Kind.TEXT),
    end(0, { case: 'text', value: { text: '' } }),
    begin(1, Kind.FOREIGN),
    end(1, { case: 'foreign', value: { format: 'anthropic-claude-v1', item } }),
    begin(2, Kind.FOREIGN),
    end(2, { case: 'foreign', value: { format: 'openai-responses-v1', item: { type: 'web_search_call' } } }),
    begin(3, Kind.IMAGE),
    end(3, { case: 'image', value: { source: { case: 'data', value: Uint8Array.of(1) }, mime: 'image/png' } }),
    begin(4, Kind.FILE),
    end(4, { case: 'file', value: { source: { case: 'url', value: 'https://x.example/a' }, name: 'a' } }),
    finish(FinishReason.OTHER, { rawReason: 'pause_turn' }),
  )
  const sealed = `portico:item:${Buffer.from('{"type":"web_search_call"}').toString('base64url')}`
  assert.deepEqual(message.content, [
    item,
    { type: 'redacted_thinking', data: `portico:openai-responses-v1:${sealed}` },
    { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AQ==' } },
    { type: 'document', source: { type: 'url', url: 'https://x.example/a' }, title: 'a' },
  ])
  assert.deepEqual(events[0]?.content_block.input, {})
  assert.equal(message.stop_reason, 'pause_turn')
})

test('sources are citations, even if they come after the text; free-form tools are called with a text', () => {
  const { message } = streamed(
    begin(0, Kind.TEXT),
    grow(0, 'Leases end.'),
    end(0, { case: 'text', value: { text: 'Leases end.' } }),
    event({ case: 'source', value: { partIndex: 0, url: 'https://x.example/', citedText: 'A lease' } }),
    begin(1, Kind.TOOL_CALL, { toolCall: { callId: 'c', name: 'patch', custom: true } }),
    grow(1, '*** Begin "'),
    end(1, { case: 'toolCall', value: { callId: 'c', name: 'patch', arguments: '*** Begin "', custom: true } }),
    begin(2, Kind.TOOL_CALL, { toolCall: { callId: 'd', name: 'f' } }),
    end(2, { case: 'toolCall', value: { callId: 'd', name: 'f', arguments: '' } }),
    finish(FinishReason.STOP, { stopText: 'END' }),
  )
  const named = { url: 'https://x.example/', title: null, cited_text: 'A lease', encrypted_index: '' }
  assert.deepEqual(message.content, [
    { type: 'text', text: 'Leases end.', citations: [{ type: 'web_search_result_location', ...named }] },
    { type: 'tool_use', id: 'c', name: 'patch', input: { input: '*** Begin "' } },
    { type: 'tool_use', id: 'd', name: 'f', input: {} },
  ])
  assert.deepEqual([message.stop_reason, message.stop_sequence], ['stop_sequence', 'END'])
})

test('every end has one of Anthropic’s reasons', () => {
  for (const [reason, rawReason, expected] of [
    [FinishReason.STOP, 'end_turn', 'end_turn'],
    [FinishReason.STOP, 'stop_sequence', 'stop_sequence'],
    [FinishReason.LENGTH, 'max_tokens', 'max_tokens'],
    [FinishReason.LENGTH, 'model_context_window_exceeded', 'model_context_window_exceeded'],
    [FinishReason.LENGTH, 'context_length_exceeded', 'model_context_window_exceeded'],
    [FinishReason.CONTENT_FILTER, 'content_filter', 'refusal'],
    [FinishReason.OTHER, 'compaction', 'compaction'],
    [FinishReason.OTHER, 'toString', 'end_turn'],
  ] as const) {
    assert.equal(streamed(finish(reason, { rawReason })).message.stop_reason, expected, rawReason)
  }
})
