import assert from 'node:assert/strict'
import test from 'node:test'
import { create, type MessageInitShape } from '@bufbuild/protobuf'
import {
  FinishReason,
  type LogProbability,
  type LogProbabilitySchema,
  type PartSchema,
  type SourceSchema,
} from '#gen/portico/inference/v1/inference_pb.js'
import {
  type GenerationEvent,
  GenerationEventSchema,
  PartStarted_Kind as Kind,
} from '#gen/portico/inference/v1/inference_service_pb.js'
import { chunksOf, foldChunks } from '#test/support/chat.ts'
import { asJson, wholeOf } from '#test/support/generation.ts'
import type { Json } from '#test/support/responses.ts'
import { chatChunk } from '../chunk.ts'
import { chatCompletion } from '../completion.ts'
import { fromGeneration } from '../from-generation.ts'
import { ChatFold } from './fold.ts'
import { ChatFrames } from './frames.ts'

type Init = NonNullable<MessageInitShape<typeof GenerationEventSchema>['event']>
type Token = Exclude<MessageInitShape<typeof LogProbabilitySchema>, LogProbability>

const seed = { id: 'gen-1', created: 5, model: 'x', describe: undefined }
const head = { id: 'gen-1', object: 'chat.completion.chunk', created: 5, model: 'a/b', provider: 'a' }

const event = (init: Init): GenerationEvent => create(GenerationEventSchema, { event: init })
const started = event({ case: 'started', value: { model: 'a/b', providerId: 'a' } })
const begin = (index: number, kind: Kind, more: object = {}): GenerationEvent =>
  event({ case: 'partStarted', value: { index, kind, ...more } })
const grow = (index: number, text: string, logProbabilities: Token[] = []): GenerationEvent =>
  event({ case: 'partExtended', value: { index, text, logProbabilities } })
const end = (index: number, part: NonNullable<MessageInitShape<typeof PartSchema>['part']>): GenerationEvent =>
  event({ case: 'partEnded', value: { index, part: { part } } })
const cite = (source: MessageInitShape<typeof SourceSchema>): GenerationEvent =>
  event({ case: 'source', value: source as never })
const usage = { inputTokens: 7n, outputTokens: 3n, cacheReadTokens: 2n, cacheWriteTokens: 1n, reasoningTokens: 1n }
const finish = (reason = FinishReason.STOP, more: object = {}): GenerationEvent =>
  event({ case: 'finished', value: { reason, usage, ...more } })

function framesOf(given: Partial<typeof seed>, events: readonly GenerationEvent[]): string {
  const frames = new ChatFrames({ ...seed, ...given })
  new ChatFold({ ...seed, ...given }, frames).add(events)
  return frames.take()
}

/**
 * The deltas between the first chunk and the one that says why it ended; the whole answer must say the same as they do
 * together.
 */
function streamed(...given: GenerationEvent[]): { deltas: Json[]; message: Json; choice: Json; last: Json } {
  const events = [started, ...given]
  const chunks = chunksOf(framesOf({}, events))
  for (const chunk of chunks) chatChunk.parse(chunk)
  const whole = asJson(chatCompletion.parse(fromGeneration(seed, wholeOf(events)))) as Json
  const { message, ...choice } = whole.choices[0]
  assert.deepEqual(foldChunks(chunks), message, 'whole and streamed say the same')
  const ended = chunks.at(-2)?.choices[0]
  assert.deepEqual(
    [ended.finish_reason, ended.native_finish_reason],
    [choice.finish_reason, choice.native_finish_reason],
  )
  assert.deepEqual(chunks.at(-1)?.usage, whole.usage)
  const deltas = chunks.slice(1, -2).map(({ choices }) => choices[0].delta)
  return { deltas, message, choice, last: chunks.at(-1) as Json }
}

test('a text is written word by word, in exactly this format', () => {
  const events = [started, begin(0, Kind.TEXT), grow(0, 'a "b"'), end(0, { case: 'text', value: { text: 'a "b"' } })]
  const start = `data: {"id":"gen-1","object":"chat.completion.chunk","created":5,"model":"a/b","provider":"a",`
  const choice = (delta: string, finish = 'null', native = 'null') =>
    `${start}"choices":[{"index":0,"delta":${delta},"finish_reason":${finish},"native_finish_reason":${native},"logprobs":null}]}`
  assert.equal(
    framesOf({}, [...events, finish(FinishReason.STOP, { rawReason: 'end_turn', serviceTier: 'flex' })]),
    [
      choice('{"role":"assistant","content":""}'),
      choice('{"content":"a \\"b\\""}'),
      choice('{}', '"stop"', '"end_turn"'),
      `${start}"choices":[],"service_tier":"flex","usage":{"prompt_tokens":7,"completion_tokens":3,"total_tokens":10,"prompt_tokens_details":{"cached_tokens":2,"cache_write_tokens":1},"completion_tokens_details":{"reasoning_tokens":1},"is_byok":false}}`,
      'data: [DONE]',
      '',
    ].join('\n\n'),
  )
})

test('a known cost is shown', () => {
  const { last } = streamed(finish(FinishReason.STOP, { costKnown: true, costNanos: 3_000n, outputCostNanos: 1_000n }))
  assert.deepEqual(last.usage.cost_details, {
    upstream_inference_cost: null,
    upstream_inference_prompt_cost: 0.000002,
    upstream_inference_completions_cost: 0.000001,
  })
  assert.equal(last.usage.cost, 0.000003)
})

test('a thought is text and detail, and its proof follows', () => {
  const value = { text: 'so be', signature: 'sig', encrypted: 'e', format: 'anthropic-claude-v1', id: 't' }
  const more = { id: 't', format: 'anthropic-claude-v1', index: 0 }
  const { deltas } = streamed(
    begin(0, Kind.REASONING),
    grow(0, 'so '),
    grow(0, 'be'),
    end(0, { case: 'reasoning', value }),
    finish(),
  )
  assert.deepEqual(deltas, [
    { reasoning: 'so ', reasoning_details: [{ type: 'reasoning.text', text: 'so ', index: 0 }] },
    { reasoning: 'be', reasoning_details: [{ type: 'reasoning.text', text: 'be', index: 0 }] },
    {
      reasoning_details: [
        { type: 'reasoning.text', signature: 'sig', ...more },
        { type: 'reasoning.encrypted', data: 'e', ...more },
      ],
    },
  ])
})

test('a summary, an encrypted thought, and a thought without deltas are each one detail of the reasoning', () => {
  const openai = { id: 'rs_1', format: 'openai-responses-v1' }
  const { message } = streamed(
    begin(0, Kind.REASONING_SUMMARY),
    grow(0, 'short'),
    end(0, { case: 'reasoning', value: { summary: 'short', ...openai } }),
    begin(1, Kind.REASONING),
    end(1, { case: 'reasoning', value: { encrypted: 'e', ...openai } }),
    begin(2, Kind.REASONING),
    end(2, { case: 'reasoning', value: { text: 'whole', signature: 's' } }),
    finish(),
  )
  assert.equal(message.reasoning, 'shortwhole')
  assert.deepEqual(message.reasoning_details, [
    { type: 'reasoning.summary', summary: 'short', ...openai, index: 0 },
    { type: 'reasoning.encrypted', data: 'e', ...openai, index: 1 },
    { type: 'reasoning.text', text: 'whole', signature: 's', index: 2 },
  ])
})

test('interleaved calls are distinguished by their numbers; a custom one takes any text', () => {
  const { deltas, message } = streamed(
    begin(0, Kind.TOOL_CALL, { toolCall: { callId: 'c1', name: 'f' } }),
    begin(1, Kind.TOOL_CALL, { toolCall: { callId: 'c2', name: 'edit', custom: true } }),
    grow(1, 'any '),
    grow(0, '{}'),
    grow(1, 'text'),
    end(0, { case: 'toolCall', value: { callId: 'c1', name: 'f', arguments: '{}', signature: 'p', format: 'g' } }),
    end(1, { case: 'toolCall', value: { callId: 'c2', name: 'edit', arguments: 'any text', custom: true } }),
    finish(FinishReason.TOOL_CALLS),
  )
  assert.deepEqual(deltas, [
    { tool_calls: [{ index: 0, id: 'c1', type: 'function', function: { name: 'f', arguments: '' } }] },
    { tool_calls: [{ index: 1, id: 'c2', type: 'custom', custom: { name: 'edit', input: '' } }] },
    { tool_calls: [{ index: 1, custom: { input: 'any ' } }] },
    { tool_calls: [{ index: 0, function: { arguments: '{}' } }] },
    { tool_calls: [{ index: 1, custom: { input: 'text' } }] },
    { reasoning_details: [{ type: 'reasoning.encrypted', data: 'p', id: 'c1', format: 'g', index: 0 }] },
  ])
  assert.equal(message.tool_calls.length, 2)
})

test('pictures, files and items of the provider are sent whole', () => {
  const { deltas } = streamed(
    begin(0, Kind.IMAGE),
    end(0, { case: 'image', value: { source: { case: 'data', value: Buffer.from([0, 0, 0]) }, mime: 'image/png' } }),
    begin(1, Kind.FILE),
    end(1, { case: 'file', value: { source: { case: 'url', value: 'https://a/f' }, name: 'f' } }),
    begin(2, Kind.FOREIGN),
    end(2, { case: 'foreign', value: { format: 'openai-responses-v1', item: { type: 'web_search_call' } } }),
    finish(),
  )
  const data = `portico:item:${Buffer.from('{"type":"web_search_call"}').toString('base64url')}`
  assert.deepEqual(deltas, [
    { images: [{ type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' }, index: 0 }] },
    { files: [{ type: 'file', file: { filename: 'f', file_data: 'https://a/f' } }] },
    { reasoning_details: [{ type: 'reasoning.encrypted', data, format: 'openai-responses-v1', index: 0 }] },
  ])
})

test('sources are cited by their positions in the whole content', () => {
  const { message } = streamed(
    begin(0, Kind.TEXT),
    grow(0, 'One. '),
    cite({ partIndex: 0, url: 'https://a', start: 0, end: 3 }),
    end(0, { case: 'text', value: { text: 'One. ' } }),
    begin(1, Kind.TEXT),
    grow(1, 'Two.'),
    cite({ partIndex: 1, url: 'https://b', title: 'B', citedText: 'b' }),
    cite({ partIndex: 1, title: 'No address' }),
    end(1, { case: 'text', value: { text: 'Two.' } }),
    finish(),
  )
  const cited = (url: string, title: string, start_index: number, end_index: number, more: object = {}) => ({
    type: 'url_citation',
    url_citation: { url, title, start_index, end_index, ...more },
  })
  assert.deepEqual(message.annotations, [cited('https://a', '', 0, 3), cited('https://b', 'B', 5, 9, { content: 'b' })])
})

test('log probabilities are sent with their words', () => {
  const token = (text: string, value: number): Token => ({
    token: text,
    logProbability: value,
    tokenBytes: Buffer.from(text),
  })
  const given = { ...token('Hi', -0.5), alternatives: [token('Hi', -0.5), { token: 'Ho', logProbability: -1 }] }
  const events = [
    ...[begin(0, Kind.TEXT), grow(0, 'Hi', [given]), end(0, { case: 'text', value: { text: 'Hi' } })],
    ...[begin(1, Kind.REFUSAL), grow(1, 'No', [token('No', 0)]), end(1, { case: 'refusal', value: { text: 'No' } })],
    finish(),
  ]
  const hi = { token: 'Hi', logprob: -0.5, bytes: [72, 105] }
  const content = [{ ...hi, top_logprobs: [hi, { token: 'Ho', logprob: -1, bytes: null }] }]
  const refusal = [{ token: 'No', logprob: 0, bytes: [78, 111], top_logprobs: [] }]
  assert.deepEqual(streamed(...events).choice.logprobs, { content, refusal })
  const chunks = chunksOf(framesOf({}, [started, ...events]))
  assert.deepEqual(
    chunks.flatMap(({ choices }) => choices.map(({ logprobs }: Json) => logprobs)),
    [null, { content, refusal: null }, { content: null, refusal }, null],
  )
})

test('a text without deltas is sent at its end', () => {
  const { deltas } = streamed(
    ...[begin(0, Kind.TEXT), end(0, { case: 'text', value: { text: 'whole' } })],
    ...[begin(1, Kind.TOOL_CALL, { toolCall: { callId: 'c', name: 'f' } })],
    end(1, { case: 'toolCall', value: { callId: 'c', name: 'f', arguments: '{}' } }),
    finish(FinishReason.TOOL_CALLS),
  )
  assert.deepEqual(deltas[0], { content: 'whole' })
  assert.deepEqual(deltas[2], { tool_calls: [{ index: 0, function: { arguments: '{}' } }] })
})

test('finish reasons are those of chat completions, next to the provider’s own word', () => {
  const reasons = [
    [FinishReason.STOP, 'stop'],
    [FinishReason.LENGTH, 'length'],
    [FinishReason.TOOL_CALLS, 'tool_calls'],
    [FinishReason.CONTENT_FILTER, 'content_filter'],
    [FinishReason.OTHER, 'stop'],
  ] as const
  for (const [reason, name] of reasons) {
    const { choice } = streamed(finish(reason, { rawReason: 'own' }))
    assert.deepEqual([choice.finish_reason, choice.native_finish_reason], [name, 'own'])
  }
})

test('a stream that breaks off ends with an error and the final marker, once', () => {
  const frames = new ChatFrames(seed)
  const fold = new ChatFold(seed, frames)
  fold.add([started])
  const failure = { error: { code: 502, message: 'm', metadata: { error_type: 'provider_unavailable' } } }
  fold.fail(failure)
  fold.fail(failure)
  const choice = {
    index: 0,
    delta: { content: '' },
    finish_reason: 'error',
    native_finish_reason: null,
    logprobs: null,
  }
  assert.deepEqual(chunksOf(frames.take()).slice(1), [{ ...head, choices: [choice], ...failure }])
})

test('an error before the first event names the requested model', () => {
  const frames = new ChatFrames(seed)
  new ChatFold(seed, frames).fail({ error: { code: 500, message: 'm', metadata: { error_type: 'server' } } })
  const [chunk] = chunksOf(frames.take())
  assert.deepEqual([chunk?.model, chunk?.provider], ['x', undefined])
  chatChunk.parse(chunk)
})
