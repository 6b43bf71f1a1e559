import assert from 'node:assert/strict'
import { test } from 'node:test'
import { GenerationSchema } from '#gen/portico/inference/v1/inference_pb.js'
import { plain } from '#test/support/inference.ts'
import type { Part } from '../domain/conversation.ts'
import type { LogProbability, PartKind } from '../domain/generation.ts'
import type { MeteredEvent } from '../domain/meter.ts'
import type { Served } from '../run/generation.ts'
import { eventToProto, generationToProto } from './convert.ts'

const served: Served = {
  endpoint: { providerId: 'p', modelId: 'm' },
  endpoints: [{ providerId: 'p' }, { providerId: 'q' }],
  warnings: [{ field: 'models', message: 'It was not applied' }],
  ownField: (field) => field,
  preset: { presetId: 'id', slug: 'slug', version: 3 },
}
const bytes = new Uint8Array([104])
const token: LogProbability = {
  ...{ token: 'h', logProbability: -0.5, bytes },
  alternatives: [{ token: 'j', logProbability: -1, alternatives: [] }],
}
const tokenMessage = {
  ...{ token: 'h', logProbability: -0.5, tokenBytes: bytes },
  alternatives: [{ token: 'j', logProbability: -1, alternatives: [] }],
}
const thought = { text: 't', summary: 's', signature: 'g', encrypted: 'e', id: 'i', format: 'anthropic-claude-v1' }
const call = {
  callId: 'c',
  name: 'grep',
  arguments: 'x',
  custom: true,
  namespace: 'files',
  signature: 'g',
  format: 'f',
}
const proofOfCall = { namespace: 'files', signature: 'g', format: 'f' }
const foreign = { format: 'openai-responses-v1', item: { type: 'web_search_call' } }
const source = {
  ...{ partIndex: 0, url: 'https://a', title: 'A', start: 0, end: 1, citedText: 'cited' },
  ...{ fileId: 'file_1', fileName: 'a.txt' },
}
const usage = {
  ...{ inputTokens: 1n, outputTokens: 2n, cacheReadTokens: 3n, cacheWriteTokens: 4n, reasoningTokens: 5n },
  estimated: true,
}
const end = {
  ...{ rawReason: 'stop_sequence', costNanos: 7n, outputCostNanos: 5n, costKnown: true, stopText: 'END' },
  providerMetadata: { f: { container: 'c' } },
}

const begin = (index: number, kind: PartKind): MeteredEvent => ({ type: 'part-started', index, kind })
const whole = (index: number, part: Part): MeteredEvent => ({ type: 'part-ended', index, part })
const events: readonly MeteredEvent[] = [
  { type: 'started', warnings: [{ field: 'speed', message: 'It was left out' }] },
  begin(0, 'text'),
  { type: 'part-extended', index: 0, text: 'h', logProbabilities: [token] },
  whole(0, { type: 'text', text: 'h' }),
  { type: 'source', source },
  begin(1, 'reasoning'),
  whole(1, { type: 'reasoning', ...thought }),
  {
    ...{ type: 'part-started', index: 2, kind: 'tool-call' },
    callId: 'c',
    toolName: 'grep',
    custom: true,
    namespace: 'files',
    signature: 'g',
    format: 'f',
  },
  whole(2, { type: 'tool-call', ...call }),
  begin(3, 'foreign'),
  whole(3, { type: 'foreign', ...foreign }),
  { type: 'finished', reason: 'stop', ...end, serviceTier: 'flex', usage },
]

test('everything in a generation is converted, none of it left behind', () => {
  const generation = generationToProto(events, served)
  const expected = {
    model: 'p/m',
    providerId: 'p',
    parts: [
      { part: { case: 'text', value: { text: 'h', sources: [] } } },
      { part: { case: 'reasoning', value: thought } },
      { part: { case: 'toolCall', value: call } },
      { part: { case: 'foreign', value: foreign } },
    ],
    warnings: [...served.warnings, { field: 'speed', message: 'It was left out' }],
    sources: [source],
    reason: 1,
    ...end,
    serviceTier: 'flex',
    usage,
    logProbabilities: { 0: { tokens: [tokenMessage] } },
    preset: served.preset,
    endpointCount: 2,
  }
  for (const { localName } of GenerationSchema.fields) assert.ok(localName in expected, localName)
  assert.deepEqual(plain(generation), expected)
})

test('the same comes streamed', () => {
  const streamed = events.map((event) => plain(eventToProto(event, served).event))
  assert.deepEqual(streamed[2], {
    case: 'partExtended',
    value: { index: 0, text: 'h', logProbabilities: [tokenMessage] },
  })
  assert.deepEqual(streamed[7], {
    case: 'partStarted',
    value: { index: 2, kind: 4, callId: 'c', toolName: 'grep', custom: true, ...proofOfCall },
  })
  assert.deepEqual(streamed[9], { case: 'partStarted', value: { index: 3, kind: 8, custom: false } })
  assert.deepEqual(streamed.at(-1), { case: 'finished', value: { reason: 1, ...end, serviceTier: 'flex', usage } })
})
