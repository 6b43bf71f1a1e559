import assert from 'node:assert/strict'
import test from 'node:test'
import { create } from '@bufbuild/protobuf'
import {
  type GenerationRequest,
  GenerationRequestSchema,
  Message_Role as Role,
  ToolChoice_Mode,
} from '#gen/portico/inference/v1/inference_pb.js'
import { plain } from '#test/support/inference.ts'
import { createResponseBody } from './body.ts'
import { toGenerationRequest } from './to-generation-request.ts'

function generation(body: object, session = ''): GenerationRequest {
  const parsed = createResponseBody.parse({ model: 'a/b', input: 'Hello', ...body })
  return create(GenerationRequestSchema, toGenerationRequest(parsed, 'gen-1', { 'x-session-id': session }).generation)
}

/** Role and parts of each message. */
function messages(body: object): unknown[] {
  return generation(body).messages.map(({ role, parts }) => [
    role,
    parts.map(({ part, cacheControl }) => [part.case, plain(part.value), ...(cacheControl ? [cacheControl.ttl] : [])]),
  ])
}

const url = (value: string): object => ({ source: { case: 'url', value } })

test('a text is one message of the user, and nothing else is set', () => {
  const { $typeName: _, ...request } = generation({})
  assert.deepEqual(plain(request), {
    requestId: 'gen-1',
    model: 'a/b',
    messages: [{ role: Role.USER, parts: [{ part: { case: 'text', value: { text: 'Hello', sources: [] } } }] }],
    tools: [],
    hostedTools: [],
    sampling: { stop: [], logitBias: {}, cleared: [] },
    extensions: [],
    metadata: {},
    notApplied: [],
    providerHeaders: {},
    origin: 'responses',
    endsAtOverflow: false,
    modelRequired: true,
  })
})

test('consecutive thoughts, texts and calls of the model are one message, and so are the outputs of the calls', () => {
  const input = [
    { role: 'developer', content: 'Rules' },
    { type: 'reasoning', id: 'rs_theirs', summary: [], encrypted_content: 'secret' },
    {
      type: 'reasoning',
      id: `rs_${'x'.repeat(24)}_0`,
      summary: [{ type: 'summary_text', text: 'short' }],
      content: [{ type: 'reasoning_text', text: 'long' }],
      signature: 'sig',
    },
    { type: 'reasoning', id: 'rs_empty', summary: [] },
    { role: 'assistant', content: 'I look.' },
    { type: 'function_call', call_id: 'c1', name: 'f', arguments: '{"a": 1}' },
    { type: 'function_call', call_id: 'c2', name: 'g', arguments: '' },
    { type: 'function_call_output', call_id: 'c1', output: 'one' },
    {
      type: 'function_call_output',
      call_id: 'c2',
      output: [{ type: 'input_image', image_url: 'https://e.com/a.png' }],
    },
    { role: 'user', content: 'Go on' },
    { role: 'user', content: 'please' },
  ]
  const text = (value: string): object => ({ part: { case: 'text', value: { text: value, sources: [] } } })
  const picture = { part: { case: 'image', value: { ...url('https://e.com/a.png') } } }
  assert.deepEqual(messages({ instructions: 'Be brief.', input }), [
    [Role.SYSTEM, [['text', { text: 'Be brief.', sources: [] }]]],
    [Role.SYSTEM, [['text', { text: 'Rules', sources: [] }]]],
    [
      Role.ASSISTANT,
      [
        ['reasoning', { encrypted: 'secret', id: 'rs_theirs', format: 'openai-responses-v1' }],
        ['reasoning', { text: 'long', summary: 'short', signature: 'sig' }],
        ['text', { text: 'I look.', sources: [] }],
        ['toolCall', { callId: 'c1', name: 'f', arguments: '{"a": 1}', custom: false }],
        ['toolCall', { callId: 'c2', name: 'g', arguments: '', custom: false }],
      ],
    ],
    [
      Role.TOOL,
      [
        ['toolResult', { callId: 'c1', content: [text('one')], failed: false, custom: false }],
        ['toolResult', { callId: 'c2', content: [picture], failed: false, custom: false }],
      ],
    ],
    [Role.USER, [['text', { text: 'Go on', sources: [] }]]],
    [Role.USER, [['text', { text: 'please', sources: [] }]]],
  ])
})

test('pictures, files and sound are given as bytes or as addresses', () => {
  const content = [
    { type: 'input_image', image_url: 'data:image/PNG;base64,AAEC', detail: 'high' },
    { type: 'input_file', file_data: 'data:text/plain,a%20b', filename: 'a.txt' },
    { type: 'input_file', file_url: 'https://e.com/a.pdf' },
    { type: 'input_audio', input_audio: { data: 'AAEC', format: 'mp3' } },
  ]
  const data = (bytes: number[]): object => ({ source: { case: 'data', value: Buffer.from(bytes) } })
  assert.deepEqual(messages({ input: [{ role: 'user', content }] }), [
    [
      Role.USER,
      [
        ['image', { ...data([0, 1, 2]), mime: 'image/png', detail: 'high' }],
        ['file', { ...data([...Buffer.from('a b')]), mime: 'text/plain', name: 'a.txt' }],
        ['file', { ...url('https://e.com/a.pdf') }],
        ['audio', { ...data([0, 1, 2]), mime: 'audio/mpeg' }],
      ],
    ],
  ])
})

test('marked prefixes are cached, and so is everything if the request says so', () => {
  const marked = { type: 'input_text', text: 'a', prompt_cache_breakpoint: { mode: 'explicit' } }
  const input = [{ role: 'user', content: [marked, { type: 'input_text', text: 'b' }] }]
  const body = { input, prompt_cache_options: { ttl: '1h' }, cache_control: { type: 'ephemeral' } }
  const a = ['text', { text: 'a', sources: [] }, '1h']
  assert.deepEqual(messages(body), [[Role.USER, [a, ['text', { text: 'b', sources: [] }]]]])
  assert.deepEqual(plain(generation(body).automaticCache), { hint: false })
})

test('only the allowed tools are offered', () => {
  const tools = ['f', 'g', 'h'].map((name) => ({ type: 'function', name, parameters: null }))
  const allowed = [{ type: 'function', name: 'h' }]
  const tool_choice = { type: 'allowed_tools', mode: 'required', tools: allowed }
  const request = generation({ tools, tool_choice })
  assert.deepEqual(plain(request.tools), [{ name: 'h', deferred: false }])
  assert.equal(request.toolChoice?.mode, ToolChoice_Mode.REQUIRED)
  const named = generation({ tools, tool_choice: { type: 'function', name: 'g' } })
  assert.equal(named.tools.length, 3)
  assert.deepEqual(plain(named.toolChoice), { mode: ToolChoice_Mode.NAMED, name: 'g' })
})

test('thinking is switched by enabled, and measured by effort or tokens', () => {
  const reasoning = (value: object): unknown => plain(generation({ reasoning: value }).reasoning)
  assert.deepEqual(reasoning({ enabled: true }), { effort: 'medium' })
  assert.deepEqual(reasoning({ enabled: false }), { effort: 'none' })
  assert.deepEqual(reasoning({ enabled: true, max_tokens: 9 }), { maxTokens: 9 })
  assert.deepEqual(reasoning({ effort: 'low', summary: 'auto' }), { effort: 'low', summary: 'auto' })
})

test('the session of the body takes precedence over that of the header, and the cache key comes last', () => {
  assert.equal(generation({ session_id: 'body', prompt_cache_key: 'key' }, 'header').sessionId, 'body')
  assert.equal(generation({ prompt_cache_key: 'key' }, 'header').sessionId, 'header')
  assert.equal(generation({ prompt_cache_key: 'key' }).sessionId, 'key')
  assert.equal(generation({ safety_identifier: 'safe' }).user, 'safe')
  assert.equal(generation({ safety_identifier: 'safe', user: 'me' }).user, 'me')
})

test('routing members become demands, and known members without an effect are named as not applied', () => {
  const { routing, notApplied } = generation({
    models: ['a/b', 'c/d'],
    plugins: [{ id: 'web' }],
    route: 'sort',
    x_search_filter: { from_date: '2026-01-01' },
    provider: {
      ...{ only: ['x'], zdr: true, data_collection: 'deny', sort: 'price', order: ['x'] },
      max_price: { prompt: 0.25, completion: '12.5', image: 1 },
    },
  })
  assert.deepEqual(notApplied, ['models', 'route', 'plugins', 'x_search_filter'])
  assert.deepEqual(plain(routing), {
    ...{ only: ['x'], ignore: [], requireParameters: false, denyDataCollection: true, zeroDataRetention: true },
    ...{
      maxInputNanos: 250_000_000n,
      maxOutputNanos: 12_500_000_000n,
      preferences: ['order', 'sort', 'max_price.image'],
    },
    ...{ enforceDistillableText: false, quantizations: [] },
  })
  const idle = generation({ models: ['a/b'], plugins: [{ id: 'web', enabled: false }] })
  assert.deepEqual(idle.notApplied, [])
})

test('members that only OpenAI understands are sent to no other kind of provider', () => {
  const own = (more: object): unknown => generation(more).extensions.map(({ format, body }) => ({ format, body }))
  const format = 'openai-responses-v1'
  const include = ['reasoning.encrypted_content', 'file_search_call.results', 'message.output_text.logprobs']
  const reasoning = { mode: 'pro', context: 'all_turns', effort: 'low' }
  assert.deepEqual(own({ include, reasoning, truncation: 'auto' }), [
    {
      format,
      body: {
        include: ['file_search_call.results'],
        ...{ truncation: 'auto', reasoning: { mode: 'pro', context: 'all_turns' } },
      },
    },
  ])
  const idle = {
    include: include.slice(0, 1),
    truncation: 'disabled',
    reasoning: { mode: 'standard', context: 'auto' },
  }
  assert.deepEqual(own(idle), [])
  assert.deepEqual(own({ ...idle, preset: 'p' }), [{ format, body: { truncation: 'disabled' } }])
})

test('the caller’s name is cut to what is kept of it', () => {
  const body = createResponseBody.parse({ model: 'a/b', input: 'Hello' })
  const headers = { 'http-referer': 'https://app', 'x-title': 'x'.repeat(300), 'user-agent': '' }
  const { attribution } = create(GenerationRequestSchema, toGenerationRequest(body, 'gen-1', headers).generation)
  assert.deepEqual(plain(attribution), { referer: 'https://app', title: 'x'.repeat(256) })
})

test('custom, grouped and hosted tools are offered, and can be chosen in each way', () => {
  const custom = {
    type: 'custom',
    name: 'patch',
    format: { type: 'grammar', syntax: 'lark', definition: 'start: "x"' },
  }
  const inside = [
    { type: 'function', name: 'f', defer_loading: true },
    { type: 'custom', name: 'free' },
  ]
  const tools = [
    { type: 'web_search', filters: { allowed_domains: ['a'] } },
    custom,
    { type: 'namespace', name: 'crm', description: 'CRM', tools: inside },
  ]
  const more = {
    type: 'additional_tools',
    role: 'developer',
    tools: [{ type: 'shell' }, { type: 'function', name: 'g' }],
  }
  const input = [more, { role: 'user', content: 'Hi' }]
  const group = { namespace: { name: 'crm', description: 'CRM' } }
  const request = generation({ tools, input })
  assert.deepEqual(plain(request.tools), [
    { name: 'patch', custom: { syntax: 'lark', grammar: 'start: "x"' }, deferred: false },
    { name: 'f', ...group, deferred: true },
    { name: 'free', custom: {}, ...group, deferred: false },
    { name: 'g', deferred: false },
  ])
  const format = 'openai-responses-v1'
  assert.deepEqual(plain(request.hostedTools), [
    { format, definition: tools[0] },
    { format, definition: { type: 'shell' } },
  ])
  assert.equal(request.messages.length, 1)
  const chosen = (tool_choice: object): unknown => plain(generation({ tools, input, tool_choice }).toolChoice)
  assert.deepEqual(chosen({ type: 'custom', name: 'patch' }), { mode: ToolChoice_Mode.NAMED, name: 'patch' })
  assert.deepEqual(chosen({ type: 'shell' }), { mode: ToolChoice_Mode.HOSTED, name: 'shell' })
  const servers = ['a', 'b'].map((server_label) => ({
    type: 'mcp',
    server_label,
    server_url: `https://${server_label}`,
  }))
  const choice = { type: 'mcp', server_label: 'b', name: 'ask' }
  const { toolChoice } = generation({ tools: servers, tool_choice: choice })
  assert.deepEqual(plain(toolChoice), { mode: ToolChoice_Mode.HOSTED, name: 'mcp', definition: choice })
  const one = { type: 'allowed_tools', mode: 'auto', tools: [choice] }
  assert.deepEqual(
    generation({ tools: servers, tool_choice: one }).hostedTools.map(({ definition }) => definition),
    [servers[1]],
  )
  const allowed = [{ type: 'web_search' }, { type: 'function', name: 'g' }]
  const narrowed = generation({ tools, input, tool_choice: { type: 'allowed_tools', mode: 'auto', tools: allowed } })
  assert.deepEqual([narrowed.tools.map(({ name }) => name), narrowed.hostedTools.length], [['g'], 1])
})

test('calls of custom tools, items of hosted ones, and what clients said of them', () => {
  const patch = { type: 'apply_patch_call', id: 'ap_1', call_id: 'a', operation: { type: 'create_file', path: 'x' } }
  const patched = { type: 'apply_patch_call_output', call_id: 'a', status: 'completed' }
  const input = [
    { type: 'compaction', encrypted_content: 'all before' },
    { type: 'custom_tool_call', call_id: 'c', name: 'patch', input: 'any', namespace: 'files' },
    patch,
    { type: 'custom_tool_call_output', call_id: 'c', output: 'done' },
    patched,
    { type: 'openrouter:web_search', id: 'or_1', status: 'completed' },
    { role: 'user', content: [{ type: 'input_video', video_url: 'https://e.com/v.mp4' }] },
  ]
  const format = 'openai-responses-v1'
  const call = { callId: 'c', name: 'patch', arguments: 'any', custom: true, namespace: 'files' }
  const done = { part: { case: 'text', value: { text: 'done', sources: [] } } }
  assert.deepEqual(messages({ input }), [
    [
      Role.ASSISTANT,
      [
        ['foreign', { format, item: { type: 'compaction', encrypted_content: 'all before' } }],
        ['toolCall', call],
        ['foreign', { format, item: patch }],
      ],
    ],
    [
      Role.TOOL,
      [
        ['toolResult', { callId: 'c', content: [done], failed: false, custom: true }],
        ['foreign', { format, item: patched }],
      ],
    ],
    [Role.ASSISTANT, [['foreign', { format: 'openrouter', item: input[5] }]]],
    [Role.USER, [['video', url('https://e.com/v.mp4')]]],
  ])
})
