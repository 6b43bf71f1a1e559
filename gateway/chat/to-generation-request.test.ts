import assert from 'node:assert/strict'
import test from 'node:test'
import { create } from '@bufbuild/protobuf'
import {
  type GenerationRequest,
  GenerationRequestSchema,
  ToolChoice_Mode as Mode,
  Message_Role as Role,
} from '#gen/portico/inference/v1/inference_pb.js'
import { plain } from '#test/support/inference.ts'
import { sealItem } from '../generation/sealed-item.ts'
import { createChatBody, presetBody } from './body.ts'
import { toGenerationRequest } from './to-generation-request.ts'
import { toSettings, toSystem } from './to-settings.ts'

const hello = [{ role: 'user', content: 'Hello' }]

function generation(body: object, headers: Record<string, string> = {}): GenerationRequest {
  const parsed = createChatBody.parse({ model: 'a/b', messages: hello, ...body })
  return create(GenerationRequestSchema, toGenerationRequest(parsed, 'gen-1', headers).generation)
}

/** Role and parts of each message. */
function messages(given: readonly object[], more: object = {}): unknown[] {
  return generation({ messages: given, ...more }).messages.map(({ role, parts }) => [
    role,
    parts.map(({ part, cacheControl }) => [
      part.case,
      plain(part.value),
      ...(cacheControl ? [{ ttl: cacheControl.ttl }] : []),
    ]),
  ])
}

const url = (value: string): object => ({ source: { case: 'url', value } })
const text = (value: string, more: object = {}): unknown => ['text', { text: value, sources: [], ...more }]

test('a question is one message of the user, and nothing else is set', () => {
  const { $typeName: _, ...request } = generation({})
  assert.deepEqual(plain(request), {
    requestId: 'gen-1',
    model: 'a/b',
    messages: [{ role: Role.USER, parts: [{ part: { case: 'text', value: { text: 'Hello', sources: [] } } }] }],
    tools: [],
    hostedTools: [],
    extensions: [],
    notApplied: [],
    sampling: { stop: [], logitBias: {}, cleared: [] },
    providerHeaders: {},
    metadata: {},
    origin: 'chat',
    endsAtOverflow: false,
    modelRequired: false,
  })
})

test('every role has its message; consecutive results are one', () => {
  const call = (id: string) => ({ id, type: 'function', function: { name: 'f', arguments: '{"a": 1}' } })
  const given = [
    { role: 'system', content: [{ type: 'text', text: 'Rules' }] },
    { role: 'developer', content: 'More', name: 'n' },
    { role: 'user', content: '' },
    { role: 'assistant', content: '', refusal: 'No.', tool_calls: [call('c1'), call('c2')] },
    { role: 'tool', tool_call_id: 'c1', name: 'f', content: 'one' },
    { role: 'tool', tool_call_id: 'c2', content: [{ type: 'text', text: 'two' }] },
    { role: 'assistant', content: null },
    {
      role: 'assistant',
      content: [
        { type: 'text', text: 'a' },
        { type: 'refusal', refusal: 'b' },
      ],
    },
  ]
  const called = (callId: string) => ['toolCall', { callId, name: 'f', arguments: '{"a": 1}', custom: false }]
  const result = (callId: string, said: string) => [
    'toolResult',
    {
      callId,
      content: [{ part: { case: 'text', value: { text: said, sources: [] } } }],
      failed: false,
      custom: false,
    },
  ]
  assert.deepEqual(messages(given), [
    [Role.SYSTEM, [text('Rules')]],
    [Role.SYSTEM, [text('More')]],
    [Role.USER, [text('')]],
    [Role.ASSISTANT, [['refusal', { text: 'No.', sources: [] }], called('c1'), called('c2')]],
    [Role.TOOL, [result('c1', 'one'), result('c2', 'two')]],
    [Role.ASSISTANT, [text('a'), ['refusal', { text: 'b', sources: [] }]]],
  ])
})

test('pictures, files, sound and videos go by address or content, with marks for the cache', () => {
  const content = [
    { type: 'text', text: 'Look', cache_control: { type: 'ephemeral', ttl: '1h' } },
    { type: 'text', text: 'here', prompt_cache_breakpoint: { mode: 'explicit' } },
    { type: 'image_url', image_url: { url: 'https://a/b.png', detail: 'low' } },
    { type: 'file', file: { filename: 'f.txt', file_data: 'data:text/plain,x' } },
    { type: 'input_audio', input_audio: { data: 'AAAA', format: 'wav' } },
    { type: 'video_url', video_url: { url: 'https://a/b.mp4' } },
    { type: 'input_video', video_url: { url: 'data:video/mp4;base64,AAAA' } },
  ]
  const zeros = Buffer.from([0, 0, 0])
  assert.deepEqual(messages([{ role: 'user', content }], { prompt_cache_options: { ttl: '5m' } }), [
    [
      Role.USER,
      [
        [...(text('Look') as unknown[]), { ttl: '1h' }],
        [...(text('here') as unknown[]), { ttl: '5m' }],
        ['image', { ...url('https://a/b.png'), detail: 'low' }],
        ['file', { source: { case: 'data', value: Buffer.from('x') }, mime: 'text/plain', name: 'f.txt' }],
        ['audio', { source: { case: 'data', value: zeros }, mime: 'audio/wav' }],
        ['video', url('https://a/b.mp4')],
        ['video', { source: { case: 'data', value: zeros }, mime: 'video/mp4' }],
      ],
    ],
  ])
})

test('the model’s thoughts come back unchanged, also in the pieces of a stream', () => {
  const reasoning_details = [
    { type: 'reasoning.text', text: 'I ', index: 0 },
    { type: 'reasoning.text', text: 'think', index: 0 },
    { type: 'reasoning.text', signature: 'sig', format: 'anthropic-claude-v1', index: 0 },
    { type: 'reasoning.text', text: 'again', signature: 'two', index: 1 },
    { type: 'reasoning.encrypted', data: 'hidden', format: 'anthropic-claude-v1', index: 2 },
    { type: 'reasoning.summary', summary: 'In ', index: 3 },
    { type: 'reasoning.summary', summary: 'short', index: 3 },
    { type: 'reasoning.encrypted', data: 'secret', id: 'rs_1', format: 'openai-responses-v1', index: 3 },
    { type: 'reasoning.encrypted', data: 'proof', id: 'c1', format: 'google-gemini-v1', index: 4 },
    { type: 'reasoning.server_tool_call', tool_name: 'x', arguments: '{}', result: '' },
  ]
  const tool_calls = [{ id: 'c1', type: 'function', function: { name: 'f', arguments: '{}' } }]
  const said = { role: 'assistant', content: 'So.', reasoning: 'I think', reasoning_details, tool_calls }
  const claude = { format: 'anthropic-claude-v1' }
  assert.deepEqual(messages([said]), [
    [
      Role.ASSISTANT,
      [
        ['reasoning', { text: 'I think', signature: 'sig', ...claude }],
        ['reasoning', { text: 'again', signature: 'two' }],
        ['reasoning', { encrypted: 'hidden', ...claude }],
        ['reasoning', { summary: 'In short', encrypted: 'secret', id: 'rs_1', format: 'openai-responses-v1' }],
        text('So.'),
        [
          'toolCall',
          { callId: 'c1', name: 'f', arguments: '{}', custom: false, signature: 'proof', format: 'google-gemini-v1' },
        ],
      ],
    ],
  ])
})

test('details without numbers are distinguished by proofs, ids and formats', () => {
  const detailed = (...reasoning_details: object[]) =>
    messages([{ role: 'assistant', content: 'x', reasoning_details }])
  const thoughts = (given: unknown[]) =>
    (given[0] as [Role, [string, unknown][]])[1].slice(0, -1).map(([, value]) => value)
  const piece = (more: object) => ({ type: 'reasoning.text', ...more })
  assert.deepEqual(thoughts(detailed(piece({ text: 'a', signature: 's' }), piece({ text: 'b', signature: 't' }))), [
    { text: 'a', signature: 's' },
    { text: 'b', signature: 't' },
  ])
  assert.deepEqual(thoughts(detailed(piece({ text: 'a' }), piece({ text: 'b' }))), [{ text: 'ab' }])
  assert.deepEqual(thoughts(detailed(piece({ text: 'a', format: 'f' }), piece({ text: 'b', format: 'g' }))), [
    { text: 'a', format: 'f' },
    { text: 'b', format: 'g' },
  ])
  assert.deepEqual(thoughts(detailed(piece({ text: '' }))), [])
})

test('an item of the provider comes back unchanged; an unsealed one stays a thought', () => {
  const item = { type: 'web_search_call', action: { query: 'q' } }
  const said = (data: string) =>
    messages([
      { role: 'assistant', content: 'x', reasoning_details: [{ type: 'reasoning.encrypted', data, format: 'f' }] },
    ])
  const first = (given: unknown[]) => (given[0] as [Role, unknown[]])[1][0]
  assert.deepEqual(first(said(sealItem(item))), ['foreign', { format: 'f', item }])
  for (const data of [
    'portico:item:',
    'portico:item:W10',
    'portico:item:e',
    `portico:item:${seal('{"__proto__":1}')}`,
  ]) {
    assert.deepEqual(first(said(data)), ['reasoning', { encrypted: data, format: 'f' }])
  }
})

const seal = (json: string): string => Buffer.from(json).toString('base64url')

test('the name of a speaker is reported as left out; a tool repeats its call', () => {
  const named = (role: object) => generation({ messages: [{ content: 'x', name: 'n', ...role }] }).notApplied
  assert.deepEqual(named({ role: 'user' }), ['messages.name'])
  assert.deepEqual(named({ role: 'tool', tool_call_id: 'c' }), [])
})

test('the words of a thought are enough for a thought', () => {
  for (const name of ['reasoning', 'reasoning_content']) {
    assert.deepEqual(messages([{ role: 'assistant', content: 'x', [name]: 'hm' }]), [
      [Role.ASSISTANT, [['reasoning', { text: 'hm' }], text('x')]],
    ])
  }
})

test('pictures, files and sources from the model come back', () => {
  const citation = { url: 'https://a', title: 't', start_index: 0, end_index: 2, content: 'c' }
  const said = {
    role: 'assistant',
    content: 'Hi',
    images: [{ type: 'image_url', image_url: { url: 'https://a/b.png' }, index: 0 }],
    files: [{ type: 'file', file: { filename: 'f', file_data: 'https://a/f' } }],
    annotations: [
      { type: 'url_citation', url_citation: citation },
      { type: 'file', file: { hash: 'h' } },
    ],
  }
  const source = { partIndex: 0, url: 'https://a', title: 't', start: 0, end: 2, citedText: 'c' }
  assert.deepEqual(messages([said]), [
    [
      Role.ASSISTANT,
      [
        text('Hi', { sources: [source] }),
        ['image', url('https://a/b.png')],
        ['file', { ...url('https://a/f'), name: 'f' }],
      ],
    ],
  ])
})

test('calls of custom tools and their results are marked as such', () => {
  const given = [
    { role: 'assistant', tool_calls: [{ id: 'c', type: 'custom', custom: { name: 'edit', input: 'any text' } }] },
    { role: 'tool', tool_call_id: 'c', content: 'done' },
  ]
  const [[, [[, call]]], [, [[, result]]]] = messages(given) as [[Role, [[string, object]]], [Role, [[string, object]]]]
  assert.deepEqual(call, { callId: 'c', name: 'edit', arguments: 'any text', custom: true })
  assert.equal((result as { custom: boolean }).custom, true)
})

test('every setting has its place', () => {
  const request = generation({
    max_tokens: 10,
    temperature: 0.5,
    top_p: 0.9,
    top_k: 5,
    min_p: 0.1,
    top_a: 0.2,
    frequency_penalty: 1,
    presence_penalty: -1,
    repetition_penalty: 1.5,
    seed: 7,
    stop: 'END',
    logit_bias: { '50256': -100 },
    logprobs: true,
    top_logprobs: 2,
    parallel_tool_calls: false,
    reasoning: { effort: 'high', summary: 'auto', max_tokens: 100 },
    verbosity: 'low',
    prediction: {
      type: 'content',
      content: [
        { type: 'text', text: 'a' },
        { type: 'text', text: 'b' },
      ],
    },
    modalities: ['text', 'image'],
    image_config: { size: 'big' },
    cache_control: { type: 'ephemeral', ttl: '1h' },
    service_tier: 'fast',
    safety_identifier: 'somebody',
    prompt_cache_key: 'key',
    metadata: { a: 'b' },
    trace: { trace_id: 't', more: 1 },
    preset: 'mine',
    provider: { only: ['x'], max_price: { prompt: 1 } },
    response_format: { type: 'json_schema', json_schema: { name: 'n', strict: true } },
  })
  assert.deepEqual(plain(request.sampling), {
    temperature: 0.5,
    topP: 0.9,
    topK: 5,
    minP: 0.1,
    topA: 0.2,
    frequencyPenalty: 1,
    presencePenalty: -1,
    repetitionPenalty: 1.5,
    seed: 7n,
    stop: ['END'],
    logitBias: { '50256': -100 },
    cleared: [],
    topLogProbabilities: 2,
  })
  const { maxOutputTokens, parallelToolCalls, verbosity, prediction, serviceTier, user, sessionId, preset } = request
  assert.deepEqual(
    { maxOutputTokens, parallelToolCalls, verbosity, prediction, serviceTier, user, sessionId, preset },
    {
      ...{ maxOutputTokens: 10, parallelToolCalls: false, verbosity: 'low', prediction: 'ab', serviceTier: 'priority' },
      ...{ user: 'somebody', sessionId: 'key', preset: 'mine' },
    },
  )
  assert.deepEqual(plain(request.reasoning), { effort: 'high', summary: 'auto', maxTokens: 100 })
  assert.deepEqual(plain(request.automaticCache), { ttl: '1h', hint: false })
  assert.deepEqual(plain(request.responseFormat), {
    format: { case: 'jsonSchema', value: { name: 'n', strict: true } },
  })
  assert.deepEqual(request.providerBody, { modalities: ['text', 'image'], image_config: { size: 'big' } })
  assert.deepEqual([request.metadata, request.trace], [{ a: 'b' }, { trace_id: 't', more: 1 }])
  assert.deepEqual([request.routing?.only, request.routing?.maxInputNanos], [['x'], 1_000_000_000n])
})

test('the newer of two names for one setting takes precedence, and effort has two names', () => {
  assert.equal(generation({ max_tokens: 1, max_completion_tokens: 2 }).maxOutputTokens, 2)
  assert.equal(generation({ reasoning_effort: 'low' }).reasoning?.effort, 'low')
  assert.equal(generation({ reasoning_effort: 'low', reasoning: { max_tokens: 5 } }).reasoning?.maxTokens, 5)
  assert.equal(generation({ reasoning: { enabled: true } }).reasoning?.effort, 'medium')
  assert.equal(generation({}, { 'x-session-id': 'ses' }).sessionId, 'ses')
  assert.equal(generation({ session_id: 'own' }, { 'x-session-id': 'ses' }).sessionId, 'own')
})

test('log probabilities may be requested without alternatives', () => {
  assert.equal(generation({ logprobs: true }).sampling?.topLogProbabilities, 0)
  assert.equal(generation({ logprobs: false }).sampling?.topLogProbabilities, undefined)
  const off = generation({ logprobs: false, stop: [], logit_bias: {} }).sampling
  assert.deepEqual(off?.cleared, ['stop', 'logit_bias', 'top_log_probabilities'])
})

const tools = [
  { type: 'function', function: { name: 'f', description: 'd', parameters: { type: 'object' }, strict: true } },
  { type: 'custom', custom: { name: 'g', format: { type: 'grammar', grammar: { syntax: 'lark', definition: 'x' } } } },
  { type: 'web_search', search_context_size: 'low' },
]

test('functions, custom tools and tools of the provider are offered', () => {
  const request = generation({ tools, tool_choice: 'required' })
  assert.deepEqual(plain(request.tools), [
    { name: 'f', description: 'd', parameters: { type: 'object' }, strict: true, deferred: false },
    { name: 'g', custom: { syntax: 'lark', grammar: 'x' }, deferred: false },
  ])
  assert.deepEqual(plain(request.hostedTools), [{ format: 'openai-responses-v1', definition: tools[2] }])
  assert.equal(request.toolChoice?.mode, Mode.REQUIRED)
})

test('a tool choice names tools, or narrows them down', () => {
  const choice = (tool_choice: unknown) => plain(generation({ tools, tool_choice }).toolChoice)
  assert.deepEqual(choice({ type: 'function', function: { name: 'f' } }), { mode: Mode.NAMED, name: 'f' })
  assert.deepEqual(choice({ type: 'custom', custom: { name: 'g' } }), { mode: Mode.NAMED, name: 'g' })
  assert.deepEqual(choice({ type: 'web_search' }), { mode: Mode.HOSTED, name: 'web_search' })
  const allowed = { mode: 'required', tools: [{ type: 'custom', custom: { name: 'g' } }] }
  const narrowed = generation({ tools, tool_choice: { type: 'allowed_tools', allowed_tools: allowed } })
  assert.deepEqual([narrowed.tools.map(({ name }) => name), narrowed.hostedTools.length], [['g'], 0])
  assert.equal(narrowed.toolChoice?.mode, Mode.REQUIRED)
})

test('a preset keeps settings and the system text, and ignores everything else', () => {
  const body = presetBody.parse({
    model: 'a/b',
    temperature: 1,
    messages: [
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: 5 },
      'nonsense',
      { role: 'developer', content: [{ type: 'text', text: 'Be kind.' }, null] },
    ],
    stream: 'yes',
    user: 9,
    n: 3,
  })
  assert.equal(toSystem(body), 'Be brief.\n\nBe kind.')
  assert.equal(toSystem(presetBody.parse({ messages: 'none' })), '')
  const { model, sampling } = toSettings(body)
  assert.deepEqual(JSON.parse(JSON.stringify([model, sampling])), ['a/b', { temperature: 1, cleared: [] }])
})
