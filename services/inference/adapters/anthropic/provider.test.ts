import assert from 'node:assert/strict'
import { test } from 'node:test'
import { FinishReason, ToolChoice_Mode as Mode, Message_Role as Role } from '#gen/portico/inference/v1/inference_pb.js'
import { PartStarted_Kind as Kind } from '#gen/portico/inference/v1/inference_service_pb.js'
import { eventsOf, generationRequest, part, type RequestInit } from '#test/support/generation.ts'
import { fixture, startStub, streams } from '#test/support/provider-stub.ts'
import { reasonOfRejection } from '#test/support/reason-of-rejection.ts'
import { silentLogger } from '#test/support/transports.ts'
import { ProviderSet } from '../providers/provider-set.ts'
import { ANTHROPIC } from './extension.ts'
import { anthropicBody } from './request.ts'

const thought = { case: 'reasoning' }
const usage = { inputTokens: 1112n, cacheReadTokens: 1000n, cacheWriteTokens: 100n }

test('thoughts, hidden thoughts, text and calls become parts; cached input counts as input', async () => {
  await using stub = await startStub(streams(fixture('anthropic-tools.sse')))
  const config = { id: 'anthropic', protocol: 'anthropic', apiKey: 'sk-ant', headers: {}, models: [] } as const
  await using set = new ProviderSet([{ ...config, baseUrl: `${stub.url}/v1` }], 5_000, silentLogger)
  const provider = set.byId.get('anthropic') ?? assert.fail()
  assert.deepEqual(await eventsOf(provider), [
    { case: 'started' },
    { case: 'usage', usage: { ...usage, outputTokens: 1n, reasoningTokens: 0n } },
    { case: 'partStarted', index: 0, kind: Kind.REASONING },
    { case: 'partExtended', index: 0, text: 'A directory' },
    { case: 'partExtended', index: 0, text: ' first.' },
    {
      case: 'partEnded',
      index: 0,
      part: { ...thought, text: 'A directory first.', signature: 'EqQBCg==', format: ANTHROPIC },
    },
    { case: 'partStarted', index: 1, kind: Kind.REASONING },
    { case: 'partEnded', index: 1, part: { ...thought, encrypted: 'EmwKAh==', format: ANTHROPIC } },
    { case: 'partStarted', index: 2, kind: Kind.TEXT },
    { case: 'partExtended', index: 2, text: 'I’ll look.' },
    { case: 'partEnded', index: 2, part: { case: 'text', text: 'I’ll look.' } },
    { case: 'partStarted', index: 3, kind: Kind.TOOL_CALL, toolCall: { callId: 'toolu_01', name: 'list' } },
    { case: 'partExtended', index: 3, text: '{"path": ' },
    { case: 'partExtended', index: 3, text: '"."}' },
    {
      case: 'partEnded',
      index: 3,
      part: { case: 'toolCall', callId: 'toolu_01', name: 'list', arguments: '{"path": "."}' },
    },
    { case: 'partStarted', index: 4, kind: Kind.TOOL_CALL, toolCall: { callId: 'toolu_02', name: 'now' } },
    { case: 'partExtended', index: 4, text: '{}' },
    { case: 'partEnded', index: 4, part: { case: 'toolCall', callId: 'toolu_02', name: 'now', arguments: '{}' } },
    { case: 'usage', usage: { ...usage, outputTokens: 89n, reasoningTokens: 7n } },
    {
      case: 'finished',
      reason: FinishReason.TOOL_CALLS,
      rawReason: 'tool_use',
      serviceTier: 'standard',
      providerMetadata: {
        [ANTHROPIC]: { usage: { cache_creation: { ephemeral_5m_input_tokens: 100, ephemeral_1h_input_tokens: 0 } } },
      },
    },
  ])
  const [seen] = stub.seen
  assert.equal(seen?.path, '/v1/messages')
  assert.equal(seen?.headers['x-api-key'], 'sk-ant')
  assert.equal(seen?.headers['anthropic-version'], '2023-06-01')
  assert.equal(seen?.headers.authorization, undefined)
})

test('an error event is rejected by its type, before and after the first word', async () => {
  const [start = ''] = fixture('anthropic-tools.sse').split('event: content_block_start')
  const error = (type: string) => `event: error\ndata: {"type":"error","error":{"type":"${type}","message":"No."}}\n\n`
  const metadata = { provider: 'anthropic', message: 'No.' }
  for (const [before, code, reason, status] of [
    ['', 'overloaded_error', 'PROVIDER_UNAVAILABLE', '529'],
    [start, 'rate_limit_error', 'PROVIDER_RATE_LIMITED', '429'],
    [start, 'invalid_request_error', 'PROVIDER_REFUSED', '400'],
  ] as const) {
    await using stub = await startStub(streams(before + error(code)))
    const config = { id: 'anthropic', protocol: 'anthropic', apiKey: undefined, headers: {}, models: [] } as const
    await using set = new ProviderSet([{ ...config, baseUrl: stub.url }], 5_000, silentLogger)
    const provider = set.byId.get('anthropic') ?? assert.fail()
    await assert.rejects(eventsOf(provider), reasonOfRejection(reason, { ...metadata, status, code }))
  }
})

test('a request has its system text apart, results as the user’s, thoughts with their proof, cache markers and structured output', () => {
  const request = generationRequest({
    modelId: 'claude-sonnet-4-6',
    messages: [
      { role: Role.SYSTEM, parts: [part('text', { text: 'Be brief.' }, { cacheControl: {} })] },
      {
        role: Role.USER,
        parts: [
          part('text', { text: 'Look' }),
          part('image', { source: { case: 'url', value: 'data:image/gif;base64,AQI=' } }),
          part('file', { source: { case: 'data', value: Uint8Array.of(3) }, mime: 'application/pdf', name: 'a.pdf' }),
          part('file', { source: { case: 'data', value: Buffer.from('hi') }, mime: 'text/plain' }),
        ],
      },
      {
        role: Role.ASSISTANT,
        parts: [
          part('reasoning', { text: 'hm', signature: 'sig' }),
          part('reasoning', { text: 'no proof' }),
          part('reasoning', { encrypted: 'enc' }),
          part('text', { text: '' }),
          part('toolCall', { callId: 'c1', name: 'list', arguments: '{"path":"."}' }),
          part('toolCall', { callId: 'c2', name: 'list', arguments: 'broken' }),
        ],
      },
      {
        role: Role.TOOL,
        parts: [part('toolResult', { callId: 'c1', content: [part('text', { text: 'a' })], failed: false })],
      },
      { role: Role.TOOL, parts: [part('toolResult', { callId: 'c2', content: [], failed: true })] },
      { role: Role.USER, parts: [part('text', { text: 'And?' }, { cacheControl: { ttl: '1h' } })] },
    ],
    tools: [{ name: 'list' }],
    toolChoice: { mode: Mode.REQUIRED },
    parallelToolCalls: false,
    sampling: {
      ...{ temperature: 1.5, topK: 3, frequencyPenalty: 1, seed: 1n, stop: ['X'] },
    },
    responseFormat: { format: { case: 'jsonSchema', value: { name: 'n', schema: { type: 'object' }, strict: true } } },
    user: 'u',
  })
  assert.deepEqual(anthropicBody(request), {
    model: 'claude-sonnet-4-6',
    stream: true,
    max_tokens: 32_000,
    system: [{ type: 'text', text: 'Be brief.', cache_control: { type: 'ephemeral' } }],
    messages: [
      {
        role: 'user',
        content: [
          { type: 'text', text: 'Look' },
          { type: 'image', source: { type: 'base64', media_type: 'image/gif', data: 'AQI=' } },
          {
            type: 'document',
            source: { type: 'base64', media_type: 'application/pdf', data: 'Aw==' },
            title: 'a.pdf',
          },
          { type: 'document', source: { type: 'text', media_type: 'text/plain', data: 'hi' } },
        ],
      },
      {
        role: 'assistant',
        content: [
          { type: 'thinking', thinking: 'hm', signature: 'sig' },
          { type: 'redacted_thinking', data: 'enc' },
          { type: 'tool_use', id: 'c1', name: 'list', input: { path: '.' } },
          { type: 'tool_use', id: 'c2', name: 'list', input: { INVALID_JSON: 'broken' } },
        ],
      },
      {
        role: 'user',
        content: [
          { type: 'tool_result', tool_use_id: 'c1', content: [{ type: 'text', text: 'a' }] },
          { type: 'tool_result', tool_use_id: 'c2', content: [], is_error: true },
          { type: 'text', text: 'And?', cache_control: { type: 'ephemeral', ttl: '1h' } },
        ],
      },
    ],
    tools: [{ name: 'list', input_schema: { type: 'object', properties: {} } }],
    tool_choice: { type: 'any', disable_parallel_tool_use: true },
    temperature: 1,
    top_k: 3,
    stop_sequences: ['X'],
    output_config: { format: { type: 'json_schema', schema: { type: 'object' } } },
    metadata: { user_id: 'u' },
  })
})

test('thinking is requested by effort where the model decides itself, else by a budget below the limit', () => {
  const thinking = (request: RequestInit): unknown => {
    const { thinking, output_config: output, max_tokens: max } = anthropicBody(generationRequest(request))
    return { thinking, output, max }
  }
  const reasoning = { effort: 'minimal' }
  const adaptive = { thinking: { type: 'adaptive' }, output: { effort: 'low' }, max: 32_000 }
  assert.deepEqual(thinking({ modelId: 'claude-opus-5', reasoning }), adaptive)
  const budget = { thinking: { type: 'enabled', budget_tokens: 1_024 }, output: undefined, max: 32_000 }
  assert.deepEqual(thinking({ modelId: 'claude-sonnet-4-5-20250929', reasoning }), budget)
  const large = { maxTokens: 40_000 }
  const most = { thinking: { type: 'enabled', budget_tokens: 40_000 }, output: undefined, max: 41_024 }
  assert.deepEqual(thinking({ modelId: 'claude-sonnet-4-6', reasoning: large }), most)
  const free = { thinking: { type: 'adaptive' }, output: undefined, max: 32_000 }
  assert.deepEqual(thinking({ modelId: 'claude-opus-5', reasoning: large }), free)
  const none = { thinking: undefined, output: undefined, max: 500 }
  assert.deepEqual(thinking({ modelId: 'claude-sonnet-4-6', reasoning: large, maxOutputTokens: 500 }), none)
  const off = { thinking: { type: 'disabled' }, output: undefined, max: 32_000 }
  assert.deepEqual(thinking({ reasoning: { ...reasoning, effort: 'none' } }), off)
})
