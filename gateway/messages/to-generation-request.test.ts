import assert from 'node:assert/strict'
import test from 'node:test'
import { create, toJson } from '@bufbuild/protobuf'
import { GenerationRequestSchema } from '#gen/portico/inference/v1/inference_pb.js'
import { sealItem } from '../generation/sealed-item.ts'
import { createMessageBody, presetBody } from './body.ts'
import { toGenerationRequest } from './to-generation-request.ts'
import { toSettings, toSystem } from './to-settings.ts'

type Json = Record<string, unknown>
const hello = { model: 'a/b', messages: [{ role: 'user', content: 'Hi' }] }

function requestOf(body: object, headers: Record<string, string> = {}): Json {
  const { generation } = toGenerationRequest(createMessageBody.parse({ ...hello, ...body }), 'gen-1', headers)
  return toJson(GenerationRequestSchema, create(GenerationRequestSchema, generation)) as Json
}

function problemOf(body: object): string | undefined {
  const [issue] = createMessageBody.safeParse({ ...hello, ...body }).error?.issues ?? []
  return issue && `${issue.path.join('.')}: ${issue.message}`
}

test('tool results are messages of their own, system messages keep their place, and other blocks are Anthropic’s', () => {
  const ephemeral = { type: 'ephemeral', ttl: '1h' }
  const search = { type: 'search_result', source: 's', title: 't', content: [] }
  const { messages } = requestOf({
    system: [{ type: 'text', text: 'Be brief.', cache_control: ephemeral }],
    messages: [
      {
        role: 'assistant',
        content: [{ type: 'tool_use', id: 'c', name: 'f', input: { a: 1 }, caller: { type: 'direct' } }],
      },
      {
        role: 'user',
        content: [
          { type: 'tool_result', tool_use_id: 'c', content: 'o', is_error: true },
          { type: 'text', text: 'And?' },
        ],
      },
      { role: 'system', content: 'Now shout.' },
      { role: 'user', content: [search] },
    ],
  })
  const direct = { 'anthropic-claude-v1': { caller: { type: 'direct' } } }
  assert.deepEqual(messages, [
    { role: 'ROLE_SYSTEM', parts: [{ text: { text: 'Be brief.' }, cacheControl: { ttl: '1h' } }] },
    {
      role: 'ROLE_ASSISTANT',
      parts: [{ toolCall: { callId: 'c', name: 'f', arguments: '{"a":1}' }, providerMetadata: direct }],
    },
    {
      role: 'ROLE_TOOL',
      parts: [{ toolResult: { callId: 'c', content: [{ text: { text: 'o' } }], failed: true } }],
    },
    { role: 'ROLE_USER', parts: [{ text: { text: 'And?' } }] },
    { role: 'ROLE_SYSTEM', parts: [{ text: { text: 'Now shout.' } }] },
    { role: 'ROLE_USER', parts: [{ foreign: { format: 'anthropic-claude-v1', item: search } }] },
  ])
})

test('a thought goes back to the kind of provider that made it', () => {
  const sealed = 'portico:openai-responses-v1:{"encrypted":"E","id":"rs_1","summary":true}'
  const { messages } = requestOf({
    messages: [
      {
        role: 'assistant',
        content: [
          { type: 'thinking', thinking: 'So', signature: sealed },
          { type: 'thinking', thinking: 'Own', signature: 'S' },
          { type: 'thinking', thinking: 'raw', signature: '' },
          { type: 'redacted_thinking', data: 'D' },
          { type: 'redacted_thinking', data: 'portico:openai-responses-v1:no json' },
          { type: 'redacted_thinking', data: `portico:openai-responses-v1:${sealItem({ type: 'web_search_call' })}` },
        ],
      },
    ],
  })
  const [{ parts }] = messages as [{ parts: Json[] }]
  const claude = 'anthropic-claude-v1'
  assert.deepEqual(
    parts.slice(0, -1).map(({ reasoning }) => reasoning),
    [
      { summary: 'So', encrypted: 'E', id: 'rs_1', format: 'openai-responses-v1' },
      { text: 'Own', signature: 'S', format: claude },
      { text: 'raw' },
      { encrypted: 'D', format: claude },
      { format: 'openai-responses-v1' },
    ],
  )
  const item = { type: 'web_search_call' }
  assert.deepEqual(parts.at(-1), { foreign: { format: 'openai-responses-v1', item } })
})

test('other providers get the addresses of citations, and Anthropic only its own citations', () => {
  const own = { type: 'web_search_result_location', url: 'https://a.example/', title: 'A', encrypted_index: 'E' }
  const other = { type: 'web_search_result_location', url: 'https://b.example/', title: null, encrypted_index: '' }
  const quoted = { ...other, cited_text: 'b' }
  const at = (citations: object[] | null) => ({ type: 'text', text: 't', citations })
  const content = [at([own, quoted]), at([quoted]), at(null)]
  const { messages } = requestOf({ messages: [{ role: 'assistant', content }] })
  const [{ parts }] = messages as [{ parts: Json[] }]
  const [a, b] = [
    { url: own.url, title: 'A' },
    { url: other.url, citedText: 'b' },
  ]
  assert.deepEqual(parts, [
    { text: { text: 't', sources: [a, b] }, providerMetadata: { 'anthropic-claude-v1': { citations: [own] } } },
    { text: { text: 't', sources: [b] } },
    { text: { text: 't' } },
  ])
})

test('each provider gets the settings that have a meaning there, and Anthropic the client’s own members', () => {
  const tools = [
    { name: 'f', input_schema: { type: 'object' }, input_examples: [{}], defer_loading: true },
    { type: 'bash_20250124', name: 'bash' },
  ]
  const {
    requestId: _1,
    origin: _2,
    model: _3,
    messages: _4,
    ...request
  } = requestOf(
    {
      ...{ max_tokens: 10, stop_sequences: ['X'], tools, tool_choice: { type: 'tool', name: 'bash' } },
      thinking: { type: 'enabled', budget_tokens: 2_000 },
      output_config: { effort: 'max', task_budget: { type: 'tokens', total: 20_000 } },
      ...{ service_tier: 'standard_only', speed: 'fast', metadata: { user_id: 'u', team: 't' } },
      ...{ fallbacks: [{ model: 'c' }], plugins: [{ id: 'web' }], cache_control: { type: 'ephemeral' }, new_member: 1 },
    },
    { 'anthropic-beta': 'a', 'x-anthropic-beta': 'b' },
  )
  assert.deepEqual(request, {
    tools: [{ name: 'f', parameters: { type: 'object' }, deferred: true }],
    hostedTools: [{ format: 'anthropic-claude-v1', definition: tools[1] }],
    toolChoice: { mode: 'MODE_HOSTED', name: 'bash_20250124' },
    maxOutputTokens: 10,
    sampling: { stop: ['X'] },
    reasoning: { effort: 'max', maxTokens: 2_000, summary: 'auto' },
    user: 'u',
    metadata: { team: 't' },
    serviceTier: 'default',
    speed: 'fast',
    notApplied: ['fallbacks', 'plugins'],
    automaticCache: {},
    modelRequired: true,
    extensions: [
      {
        format: 'anthropic-claude-v1',
        headers: { 'anthropic-beta': 'a,b' },
        body: {
          new_member: 1,
          thinking: { type: 'enabled', budget_tokens: 2_000 },
          output_config: { effort: 'max', task_budget: { type: 'tokens', total: 20_000 } },
          tools: [{ name: 'f', input_examples: [{}] }],
        },
      },
    ],
  })
})

test('an impossible value is refused with its path', () => {
  const block = (given: object) => ({ messages: [{ role: 'user', content: [given] }] })
  for (const [body, problem] of [
    [{ fallbacks: [{ model: 'a', temperature: 1 }] }, 'fallbacks.0: Unrecognized key: "temperature"'],
    [{ fallbacks: Array(4).fill({ model: 'a' }) }, 'fallbacks: Too big: expected array to have <=3 items'],
    [{ fallbacks: [], models: [] }, 'fallbacks: must not be given together with models'],
    [{ provider: { unknown: 1 } }, 'provider: Unrecognized key: "unknown"'],
    [
      { tools: [{ type: 'openrouter:web_search' }] },
      'tools.0.type: the server tool "openrouter:web_search" is not available here',
    ],
    [
      { output_config: { task_budget: { type: 'tokens', total: 1 } } },
      'output_config.task_budget.total: Too small: expected number to be >=20000',
    ],
    [
      { metadata: Object.fromEntries(Array.from({ length: 17 }, (_, i) => [i, 'x'])) },
      'metadata: must have at most 16 pairs',
    ],
    [block({ type: 'no_type_at_all', deep: JSON.parse(`${'['.repeat(40)}${']'.repeat(40)}`) }), undefined],
  ] as const) {
    if (problem === undefined) assert.notEqual(problemOf(body), undefined)
    else assert.equal(problemOf(body), problem)
  }
})

test('members that are passed on unchanged have the same maximum depth everywhere', () => {
  const nested = (levels: number) => JSON.parse(`${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}`)
  const source = { type: 'content', content: nested(40) }
  for (const body of [
    ...[
      { type: 'text', text: 'x', more: nested(40) },
      { type: 'other', more: nested(40) },
      { type: 'document', source },
    ].map((block) => ({ messages: [{ role: 'user', content: [block] }] })),
    { tools: [{ name: 'f', input_schema: {}, more: nested(40) }] },
    { thinking: { type: 'adaptive', more: nested(40) } },
  ]) {
    assert.throws(() => requestOf(body))
  }
  assert.doesNotThrow(() => requestOf({ tools: [{ name: 'f', input_schema: nested(30) }] }))
})

test('the body of a preset has settings, a system and perhaps a model; other members have no effect', () => {
  const body = presetBody.parse({
    system: [
      { type: 'text', text: 'a' },
      { type: 'text', text: 'b' },
    ],
    max_tokens: 5,
    messages: 1,
  })
  assert.equal(toSystem(body), 'a\n\nb')
  assert.equal(toSettings(body).maxOutputTokens, 5)
  assert.equal('messages' in body, false)
})

test('a field that a service reports becomes the member that it came from', () => {
  const body = createMessageBody.parse({
    ...hello,
    system: 's',
    messages: [
      {
        role: 'user',
        content: [
          { type: 'tool_result', tool_use_id: 'c', content: [{ type: 'text', text: 'x' }] },
          { type: 'text', text: 'y' },
        ],
      },
    ],
    tools: [
      { type: 'bash_20250124', name: 'bash' },
      { name: 'f', input_schema: {} },
    ],
    metadata: { user_id: 'u' },
  })
  const { nameOf } = toGenerationRequest(body, 'gen-1', {})
  for (const [field, expected] of [
    ['messages[0].parts[0]', 'system'],
    ['messages[1].parts[0].tool_result.content[0].image.data', 'messages.0.content.0.content.0.source.data'],
    ['messages[2].parts[0]', 'messages.0.content.1'],
    ['tools[0].name', 'tools.1.name'],
    ['hosted_tools[0]', 'tools.0'],
    ['user', 'metadata.user_id'],
    ['sampling.temperature', 'temperature'],
    ['sampling.stop', 'stop_sequences'],
    ['max_output_tokens', 'max_tokens'],
    ['routing.only', 'provider.only'],
  ] as const) {
    assert.equal(nameOf(field), expected)
  }
})
