import assert from 'node:assert/strict'
import test from 'node:test'
import { create, type MessageInitShape } from '@bufbuild/protobuf'
import type { ResponsesDialect } from '#gateway/generation/responses-dialect.ts'
import type { PartSchema } from '#gen/portico/inference/v1/inference_pb.js'
import {
  type GenerationEvent,
  GenerationEventSchema,
  PartStarted_Kind as Kind,
} from '#gen/portico/inference/v1/inference_service_pb.js'
import { wholeOf } from '#test/support/generation.ts'
import type { Json } from '#test/support/responses.ts'
import { createResponseBody } from '../body.ts'
import { requestEcho } from '../echo.ts'
import { responseEvent } from '../events.ts'
import { fromGeneration } from '../from-generation.ts'
import { ResponsesFold } from './fold.ts'
import { ResponsesFrames } from './frames.ts'

const ID = `resp_${'x'.repeat(24)}`
const own = (prefix: string, index: number): string => `${prefix}_${'x'.repeat(24)}_${index}`
const echo = requestEcho(createResponseBody.parse({ model: 'a/b', input: 'x' }))
const seed = { id: ID, createdAt: 1_700_000_000, model: 'a/b', echo }
const of = { response_id: ID, output_index: 0 }

type Init = MessageInitShape<typeof GenerationEventSchema>['event']
const event = (init: NonNullable<Init>): GenerationEvent => create(GenerationEventSchema, { event: init })
const end = (index: number, part: NonNullable<MessageInitShape<typeof PartSchema>['part']>) =>
  event({ case: 'partEnded', value: { index, part: { part } } })
const finish = event({ case: 'finished', value: { reason: 1, serviceTier: 'flex' } })
const started = event({ case: 'started', value: { model: 'a/b', providerId: 'a' } })

/** Events of a dialect between the first ones and the last one, and the response; whole and streamed say the same. */
function streamed(dialect: ResponsesDialect, ...events: GenerationEvent[]): { events: Json[]; response: Json } {
  const frames = new ResponsesFrames(dialect)
  const fold = new ResponsesFold(seed, frames, () => 1_700_000_001)
  const all = [started, ...events, finish]
  fold.add(all)
  const lines = frames.take().split('\n')
  const said: Json[] = lines.filter((line) => line.startsWith('data: {')).map((line) => JSON.parse(line.slice(6)))
  for (const one of said) responseEvent.parse(one)
  const response = said.at(-1)?.response as Json
  const whole = fromGeneration(seed, wholeOf(all), 1_700_000_001)
  assert.deepEqual(JSON.parse(JSON.stringify(whole)), response)
  return { events: said.slice(2, -1).map(({ sequence_number: _, ...rest }) => rest), response }
}

test('a call of a custom tool has events and an item of its own', () => {
  const value = { callId: 'c', name: 'patch', arguments: 'any', custom: true, namespace: 'files' }
  const { events } = streamed(
    'openai',
    event({
      case: 'partStarted',
      value: {
        index: 0,
        kind: Kind.TOOL_CALL,
        toolCall: { callId: 'c', name: 'patch', custom: true, namespace: 'files' },
      },
    }),
    event({ case: 'partExtended', value: { index: 0, text: 'any' } }),
    end(0, { case: 'toolCall', value }),
  )
  const at = { item_id: own('ctc', 0), output_index: 0 }
  const called = { call_id: 'c', name: 'patch', namespace: 'files' }
  const item = { type: 'custom_tool_call', id: own('ctc', 0), ...called, input: 'any', status: 'completed' }
  assert.deepEqual(events, [
    { type: 'response.output_item.added', ...of, item: { ...item, input: '', status: 'in_progress' } },
    { type: 'response.custom_tool_call_input.delta', ...at, delta: 'any' },
    { type: 'response.custom_tool_call_input.done', ...at, input: 'any' },
    { type: 'response.output_item.done', ...of, item },
  ])
})

test('an item of a hosted tool stays unchanged, with the events of its kind', () => {
  const item = { type: 'web_search_call', id: 'ws_1', status: 'completed', action: { type: 'search', query: 'q' } }
  const { events } = streamed(
    'openai',
    event({ case: 'partStarted', value: { index: 0, kind: Kind.FOREIGN } }),
    end(0, { case: 'foreign', value: { format: 'openai-responses-v1', item } }),
  )
  const at = { item_id: 'ws_1', output_index: 0 }
  assert.deepEqual(events, [
    { type: 'response.output_item.added', ...of, item: { ...item, status: 'in_progress' } },
    { type: 'response.web_search_call.in_progress', ...at },
    { type: 'response.web_search_call.searching', ...at },
    { type: 'response.web_search_call.completed', ...at },
    { type: 'response.output_item.done', ...of, item },
  ])
})

test('a message has its phase from the start', () => {
  const { events } = streamed(
    'openai',
    event({ case: 'partStarted', value: { index: 0, kind: Kind.TEXT, phase: 'commentary' } }),
    event({ case: 'partExtended', value: { index: 0, text: 'Hm' } }),
    end(0, { case: 'text', value: { text: 'Hm', phase: 'commentary' } }),
  )
  const items = events.filter(({ item }) => item !== undefined)
  assert.deepEqual(
    items.map(({ item }) => item.phase),
    ['commentary', 'commentary'],
  )
})

test('log probabilities come with each delta, and with the whole text', () => {
  const tokenBytes = new Uint8Array([72, 105])
  const other = { token: 'Ho', logProbability: -2, tokenBytes: new Uint8Array([72]) }
  const tokens = [{ token: 'Hi', logProbability: -0.5, tokenBytes, alternatives: [other] }]
  const shown = [
    {
      ...{ token: 'Hi', logprob: -0.5, bytes: [72, 105] },
      top_logprobs: [{ token: 'Ho', logprob: -2, bytes: [72] }],
    },
  ]
  const said = [
    event({ case: 'partStarted', value: { index: 0, kind: Kind.TEXT } }),
    event({ case: 'partExtended', value: { index: 0, text: 'Hi', logProbabilities: tokens } }),
    event({ case: 'partExtended', value: { index: 0, text: '!' } }),
    end(0, { case: 'text', value: { text: 'Hi!' } }),
  ]
  const { events, response } = streamed('both', ...said)
  const deltas = events
    .filter(({ type }) => /delta$/.test(type))
    .map(({ type, delta, logprobs }) => [type, delta, logprobs])
  assert.deepEqual(deltas, [
    ['response.output_text.delta', 'Hi', shown],
    ['response.content_part.delta', 'Hi', undefined],
    ['response.output_text.delta', '!', []],
    ['response.content_part.delta', '!', undefined],
  ])
  assert.deepEqual(events.find(({ type }) => type === 'response.output_text.done')?.logprobs, shown)
  assert.deepEqual(response.output[0].content[0].logprobs, shown)
  assert.equal(response.service_tier, 'flex')
})

test('sources are cited by address, or by file', () => {
  const { events, response } = streamed(
    'openai',
    event({ case: 'partStarted', value: { index: 0, kind: Kind.TEXT } }),
    event({ case: 'partExtended', value: { index: 0, text: 'Hi' } }),
    event({ case: 'source', value: { partIndex: 0, url: 'https://a', title: 'A', start: 0, end: 1 } }),
    event({ case: 'source', value: { partIndex: 0, fileId: 'file_1', fileName: 'a.txt', start: 2 } }),
    end(0, { case: 'text', value: { text: 'Hi' } }),
  )
  const annotations = [
    { type: 'url_citation', url: 'https://a', title: 'A', start_index: 0, end_index: 1 },
    { type: 'file_citation', file_id: 'file_1', filename: 'a.txt', index: 2 },
  ]
  const added = events.filter(({ type }) => type === 'response.output_text.annotation.added')
  assert.deepEqual(
    added.map(({ annotation }) => annotation),
    annotations,
  )
  assert.deepEqual(response.output[0].content[0].annotations, annotations)
})

test('an unknown cost is left out, and a known one is not', () => {
  const usage = { inputTokens: 1n, outputTokens: 2n }
  const [known, unknown] = [true, false].map((costKnown) => {
    const generation = wholeOf([
      started,
      event({ case: 'finished', value: { reason: 1, usage, costKnown, costNanos: 5n } }),
    ])
    return fromGeneration(seed, generation, 1).usage
  })
  assert.equal(known?.cost, 5e-9)
  assert.equal(unknown !== null && unknown !== undefined && 'cost' in unknown, false)
})
