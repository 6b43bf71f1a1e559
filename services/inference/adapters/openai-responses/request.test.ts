import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ToolChoice_Mode as Mode, Message_Role as Role } from '#gen/portico/inference/v1/inference_pb.js'
import { Omissions } from '#services/inference/domain/left-out.ts'
import { generationRequest, part, type RequestInit } from '#test/support/generation.ts'
import { reasonOfRejection } from '#test/support/reason-of-rejection.ts'
import { responsesBody, responsesWarnings } from './request.ts'

const OURS = 'openai-responses-v1'
const THEIRS = 'anthropic-claude-v1'
const image = part('image', { source: { case: 'data', value: Uint8Array.of(1, 2) }, mime: 'image/png' })
const url = 'data:image/png;base64,AQI='

function sent(request: RequestInit, whole = false) {
  const full = generationRequest({ modelId: 'gpt-5.6', ...request })
  const omissions = new Omissions(responsesWarnings(full))
  const body = JSON.parse(JSON.stringify(responsesBody(full, omissions, whole)))
  return { body, warnings: omissions.warnings.map(({ field }) => field) }
}

const messages = [
  { role: Role.SYSTEM, parts: [part('text', { text: 'Be brief.' })] },
  {
    role: Role.USER,
    parts: [
      part('text', { text: 'Look' }, { cacheControl: {} }),
      image,
      part('file', { source: { case: 'url', value: 'https://x.test/a.pdf' } }),
      part('file', { source: { case: 'data', value: Uint8Array.of(3) }, mime: 'application/pdf', name: 'a.pdf' }),
      part('audio', { source: { case: 'data', value: Uint8Array.of(4) } }),
    ],
  },
  {
    role: Role.ASSISTANT,
    parts: [
      part('reasoning', { summary: 'I look.', encrypted: 'enc', id: 'rs_1', format: OURS }),
      part('reasoning', { text: 'hm', signature: 'sig', format: THEIRS }),
      part('reasoning', { encrypted: 'redacted', format: THEIRS }),
      part('foreign', { format: OURS, item: { type: 'web_search_call', id: 'ws_1' } }),
      part('foreign', { format: THEIRS, item: { type: 'server_tool_use' } }),
      part('text', { text: 'Now' }),
      part('refusal', { text: 'No' }),
      part('toolCall', { callId: 'c1', name: 'list', arguments: '{}', namespace: 'files' }),
      part('toolCall', { callId: 'c2', name: 'patch', arguments: 'diff', custom: true }),
    ],
  },
  {
    role: Role.TOOL,
    parts: [
      part('toolResult', { callId: 'c1', content: [part('text', { text: 'a' }), image], failed: false }),
      part('toolResult', { callId: 'c2', content: [part('text', { text: 'ok' })], failed: false, custom: true }),
    ],
  },
  { role: Role.SYSTEM, parts: [part('text', { text: 'Later.' })] },
]

test('a conversation becomes items in order; content of another kind of provider is left out and named', () => {
  const { body, warnings } = sent({ messages })
  assert.equal(body.instructions, 'Be brief.')
  assert.deepEqual(body.input, [
    {
      type: 'message',
      role: 'user',
      content: [
        { type: 'input_text', text: 'Look', prompt_cache_breakpoint: { mode: 'explicit' } },
        { type: 'input_image', image_url: url, detail: 'auto' },
        { type: 'input_file', file_url: 'https://x.test/a.pdf' },
        { type: 'input_file', filename: 'a.pdf', file_data: 'data:application/pdf;base64,Aw==' },
      ],
    },
    {
      ...{ type: 'reasoning', id: 'rs_1', summary: [{ type: 'summary_text', text: 'I look.' }] },
      encrypted_content: 'enc',
    },
    { type: 'web_search_call', id: 'ws_1' },
    {
      type: 'message',
      role: 'assistant',
      content: [
        { type: 'output_text', text: 'Now' },
        { type: 'refusal', refusal: 'No' },
      ],
    },
    { type: 'function_call', call_id: 'c1', name: 'list', arguments: '{}', namespace: 'files' },
    { type: 'custom_tool_call', call_id: 'c2', name: 'patch', input: 'diff' },
    {
      type: 'function_call_output',
      call_id: 'c1',
      output: [
        { type: 'input_text', text: 'a' },
        { type: 'input_image', image_url: url, detail: 'auto' },
      ],
    },
    { type: 'custom_tool_call_output', call_id: 'c2', output: 'ok' },
    { type: 'message', role: 'developer', content: [{ type: 'input_text', text: 'Later.' }] },
  ])
  const parts = ['messages[2].parts[1]', 'messages[2].parts[2]', 'messages[2].parts[4]', 'messages[1].parts[4]']
  assert.deepEqual(warnings, parts)
})

test('every setting that the API has is sent, others are named, and thoughts are requested in encrypted form', () => {
  const { body, warnings } = sent(
    {
      tools: [
        { name: 'list', description: 'Lists', parameters: { type: 'object' }, strict: true },
        { name: 'a', parameters: undefined, strict: undefined, namespace: { name: 'n', description: 'N' } },
        { name: 'patch', parameters: undefined, strict: undefined, custom: { syntax: 'lark', grammar: 'x' } },
        {
          ...{ name: 'b', parameters: undefined, strict: undefined, deferred: true },
          namespace: { name: 'n', description: 'N' },
        },
      ],
      hostedTools: [
        { format: OURS, definition: { type: 'web_search' } },
        { format: THEIRS, definition: { type: 'bash_20250124' } },
      ],
      toolChoice: { mode: Mode.HOSTED, name: 'web_search' },
      parallelToolCalls: false,
      maxOutputTokens: 100,
      sampling: {
        ...{ temperature: 0, topP: 0.5, topK: 4, frequencyPenalty: 1, presencePenalty: -1, seed: 7n, stop: ['END'] },
        ...{ minP: 0.1, topA: 0.1, repetitionPenalty: 1.1, logitBias: { 5: 1 }, topLogProbabilities: 2 },
      },
      reasoning: { effort: 'high', summary: 'auto', maxTokens: 50 },
      responseFormat: {
        format: {
          case: 'jsonSchema',
          value: { name: 'n', schema: { type: 'object' }, strict: true, description: 'd' },
        },
      },
      verbosity: 'low',
      user: 'u',
      sessionId: 'raw',
      providerSession: 's',
      speed: 'fast',
      prediction: 'p',
      providerBody: { truncation: 'auto', model: 'other', store: true },
      extensions: [
        { format: OURS, headers: {}, body: { include: ['web_search_call.results'], reasoning: { mode: 'pro' } } },
        { format: THEIRS, headers: {}, body: { context_management: {} } },
      ],
    },
    true,
  )
  const empty = { type: 'object', properties: {} }
  const members = [
    { type: 'function', name: 'a', parameters: empty, strict: false },
    { type: 'function', name: 'b', defer_loading: true, parameters: empty, strict: false },
  ]
  assert.deepEqual(body, {
    truncation: 'auto',
    model: 'gpt-5.6',
    input: [{ type: 'message', role: 'user', content: [{ type: 'input_text', text: 'Hello' }] }],
    stream: false,
    store: false,
    include: ['web_search_call.results', 'reasoning.encrypted_content', 'message.output_text.logprobs'],
    max_output_tokens: 100,
    tools: [
      { type: 'function', name: 'list', description: 'Lists', parameters: { type: 'object' }, strict: true },
      { type: 'namespace', name: 'n', description: 'N', tools: members },
      { type: 'custom', name: 'patch', format: { type: 'grammar', syntax: 'lark', definition: 'x' } },
      { type: 'web_search' },
    ],
    tool_choice: { type: 'web_search' },
    parallel_tool_calls: false,
    temperature: 0,
    top_p: 0.5,
    top_logprobs: 2,
    reasoning: { mode: 'pro', effort: 'high', summary: 'auto' },
    text: {
      format: { type: 'json_schema', name: 'n', schema: { type: 'object' }, strict: true, description: 'd' },
      verbosity: 'low',
    },
    service_tier: 'priority',
    user: 'u',
    prompt_cache_key: 's',
  })
  assert.deepEqual(warnings.toSorted(), [
    ...[
      'extensions[1].context_management',
      'hosted_tools[1]',
      'prediction',
      'reasoning.max_tokens',
      'sampling.frequency_penalty',
    ],
    ...['sampling.logit_bias', 'sampling.min_p', 'sampling.presence_penalty', 'sampling.repetition_penalty'],
    ...['sampling.seed', 'sampling.top_a', 'sampling.top_k'],
  ])
})

test('texts of different phases are messages of their own, each with its phase', () => {
  const parts = [
    part('text', { text: 'I look.', phase: 'commentary' }),
    part('text', { text: ' Now.', phase: 'commentary' }),
    part('text', { text: 'Done.', phase: 'final_answer' }),
  ] as const
  const { body } = sent({ messages: [{ role: Role.ASSISTANT, parts }] })
  const say = (phase: string, ...texts: string[]) => {
    const content = texts.map((text) => ({ type: 'output_text', text }))
    return { type: 'message', role: 'assistant', content, phase }
  }
  assert.deepEqual(body.input, [say('commentary', 'I look.', ' Now.'), say('final_answer', 'Done.')])
})

test('forms of an answer and pictures that the API has no member for are left out and named', () => {
  const { body, warnings } = sent({
    responseFormat: { format: { case: 'python', value: {} } },
    providerBody: { modalities: ['image'], own: 1 },
  })
  assert.deepEqual([body.text, body.modalities, body.own], [undefined, undefined, 1])
  assert.deepEqual(warnings, ['response_format.python', 'provider_body.modalities'])
})

test('the choice of a hosted tool is sent to its provider unchanged', () => {
  const hostedTools = [{ format: OURS, definition: { type: 'mcp', server_label: 'a' } }]
  const definition = { type: 'mcp', server_label: 'a', name: 'ask' }
  const { body } = sent({ hostedTools, toolChoice: { mode: Mode.HOSTED, name: 'mcp', definition } })
  assert.deepEqual(body.tool_choice, definition)
})

test('a model that does not think gets no request for encrypted thoughts, and an old one no mark for its cache', () => {
  const { body } = sent({ modelId: 'gpt-4.1', messages: messages.slice(1, 2) })
  assert.equal(body.include, undefined)
  assert.equal(JSON.stringify(body).includes('prompt_cache_breakpoint'), false)
})

test('a hosted tool that no provider has is left out, unless the request demands it', () => {
  const hostedTools = [{ format: THEIRS, definition: { type: 'bash_20250124' } }]
  const { body, warnings } = sent({ hostedTools, toolChoice: { mode: Mode.AUTO } })
  assert.deepEqual([body.tools, body.tool_choice, warnings], [undefined, undefined, ['hosted_tools[0]']])
  for (const toolChoice of [{ mode: Mode.REQUIRED }, { mode: Mode.HOSTED, name: 'bash_20250124' }] as const) {
    assert.throws(() => sent({ hostedTools, toolChoice }), reasonOfRejection('REQUEST_INVALID'))
  }
})
