import assert from 'node:assert/strict'
import { test } from 'node:test'
import { create, type MessageInitShape } from '@bufbuild/protobuf'
import { GenerationRequestSchema, Message_Role, ToolChoice_Mode } from '#gen/portico/inference/v1/inference_pb.js'
import { parseGeneration } from './parse-generation.ts'

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
const item = { type: 'web_search_call', id: 'ws_1' }
const source = {
  ...{ url: 'https://a', title: 'A', start: 0, end: 1, citedText: 'cited', fileId: 'file_1', fileName: 'a.txt' },
}
const cacheControl = { ttl: '1h' }

/** A request with every member. */
const whole = {
  requestId: 'req_1',
  model: 'm',
  messages: [
    {
      role: Message_Role.ASSISTANT,
      parts: [
        { part: { case: 'text', value: { text: 'x', sources: [source] } } },
        { part: { case: 'reasoning', value: thought } },
        { part: { case: 'toolCall', value: call }, cacheControl },
        { part: { case: 'foreign', value: { format: 'openai-responses-v1', item } } },
        { part: { case: 'video', value: { source: { case: 'url', value: 'https://v' }, mime: 'video/mp4' } } },
      ],
    },
    { role: Message_Role.TOOL, parts: [{ part: { case: 'toolResult', value: { callId: 'c', custom: true } } }] },
  ],
  tools: [
    {
      name: 'grep',
      ...{ description: 'd', parameters: { type: 'object' }, strict: true, deferred: true, cacheControl },
      custom: { syntax: 'lark', grammar: 'start: "x"' },
      namespace: { name: 'files', description: 'Files' },
    },
  ],
  toolChoice: { mode: ToolChoice_Mode.HOSTED, name: 'web_search' },
  parallelToolCalls: true,
  maxOutputTokens: 5,
  maxToolCalls: 7,
  sampling: {
    ...{ temperature: 1, topP: 0.5, topK: 3, frequencyPenalty: 1, presencePenalty: 1, seed: 4n, stop: ['x'] },
    ...{ minP: 0.1, topA: 0.2, repetitionPenalty: 1.1, logitBias: { 42: -100 }, topLogProbabilities: 2 },
    cleared: ['stop', 'logit_bias', 'top_log_probabilities'],
  },
  reasoning: { effort: 'low', summary: 'auto', maxTokens: 6 },
  responseFormat: { format: { case: 'jsonObject', value: {} } },
  user: 'u',
  sessionId: 's',
  providerHeaders: { a: 'b' },
  providerBody: { c: 1 },
  origin: 'chat',
  verbosity: 'low',
  hostedTools: [{ format: 'openai-responses-v1', definition: { type: 'web_search' } }],
  extensions: [{ format: 'anthropic-claude-v1', headers: { 'anthropic-beta': 'x' }, body: { container: 'c' } }],
  routing: {
    ...{ only: ['a'], ignore: ['b'], requireParameters: true, denyDataCollection: true, zeroDataRetention: true },
    ...{ maxInputNanos: 1n, maxOutputNanos: 2n, preferences: ['sort'], enforceDistillableText: true },
    quantizations: ['fp8'],
  },
  preset: 'p',
  prediction: 'x',
  serviceTier: 'flex',
  speed: 'fast',
  trace: { trace_id: 't' },
  metadata: { team: 'a' },
  notApplied: ['models'],
  attribution: { referer: 'https://app', title: 'App', categories: 'cli', userAgent: 'app/1' },
  automaticCache: cacheControl,
  excludeThoughts: false,
  showPreset: true,
  endsAtOverflow: true,
  modelRequired: true,
  providerTimeouts: { totalMs: 1, headersMs: 2, chunkMs: 3 },
} satisfies MessageInitShape<typeof GenerationRequestSchema>

test('everything in a request reaches the domain, none of it left behind', () => {
  for (const { localName } of GenerationRequestSchema.fields) assert.ok(localName in whole, localName)
  // Members about how it is served are parsed elsewhere.
  const {
    model: _1,
    showPreset: _2,
    modelRequired: _3,
    automaticCache,
    toolChoice,
    responseFormat,
    messages,
    tools,
    ...rest
  } = whole
  const { cacheControl: cache, ...tool } = tools[0] as (typeof tools)[0]
  assert.deepEqual(parseGeneration(create(GenerationRequestSchema, whole)), {
    ...rest,
    automaticCache,
    sampling: { ...whole.sampling, cleared: ['stop', 'logitBias', 'topLogProbabilities'] },
    toolChoice: { mode: 'hosted', name: 'web_search' },
    responseFormat: { type: 'json-object' },
    messages: [
      {
        role: 'assistant',
        parts: [
          { type: 'text', text: 'x', sources: [source] },
          { type: 'reasoning', ...thought },
          { type: 'tool-call', ...call, cache },
          { type: 'foreign', format: 'openai-responses-v1', item },
          ...[{ type: 'video', source: { url: 'https://v' }, mime: 'video/mp4', name: undefined, detail: undefined }],
        ],
      },
      {
        role: 'tool',
        parts: [{ type: 'tool-result', callId: 'c', content: [], failed: false, custom: true }],
      },
    ],
    tools: [{ ...tool, cache }],
  })
})
