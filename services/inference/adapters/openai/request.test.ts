import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ToolChoice_Mode as Mode, Message_Role as Role } from '#gen/portico/inference/v1/inference_pb.js'
import type { ProviderRequest } from '#services/inference/domain/generation.ts'
import { Omissions } from '#services/inference/domain/left-out.ts'
import { generationRequest, part, type RequestInit } from '#test/support/generation.ts'
import type { ChatProfile, OpenaiDialect } from './dialect.ts'
import { openaiBody, openaiWarnings } from './request.ts'

function sent(request: ProviderRequest, dialect: OpenaiDialect, profile: Partial<ChatProfile> = {}) {
  const known = { dialect, reasoningContent: false, isGoogle: false, ...profile }
  const omissions = new Omissions(openaiWarnings(request, known))
  return { body: openaiBody(request, { profile: known, omissions }), warnings: omissions.warnings }
}

const png = part('image', { source: { case: 'data', value: Uint8Array.of(1, 2) }, mime: 'image/png', detail: 'low' })
const messages: RequestInit['messages'] = [
  { role: Role.SYSTEM, parts: [part('text', { text: 'Be brief.' }, { cacheControl: { ttl: '1h' } })] },
  {
    role: Role.USER,
    parts: [
      part('text', { text: 'Look' }),
      png,
      part('image', { source: { case: 'url', value: 'https://x.test/a.png' } }),
      part('file', { source: { case: 'data', value: Uint8Array.of(3) }, mime: 'application/pdf', name: 'a.pdf' }),
      part('audio', { source: { case: 'data', value: Uint8Array.of(4) }, mime: 'audio/wav' }),
    ],
  },
  {
    role: Role.ASSISTANT,
    parts: [
      part('reasoning', { text: 'hm', signature: 'sig', id: 'r1' }),
      part('reasoning', { encrypted: 'enc' }),
      part('toolCall', { callId: 'c1', name: 'list', arguments: '{"path":"."}' }),
      part('toolCall', { callId: 'c2', name: 'shot', arguments: '{}' }),
    ],
  },
  {
    role: Role.TOOL,
    parts: [
      part('toolResult', { callId: 'c1', content: [part('text', { text: 'a\nb' })], failed: false }),
      part('toolResult', { callId: 'c2', content: [png], failed: false }),
    ],
  },
]
const request = generationRequest({
  modelId: 'gpt',
  messages,
  tools: [{ name: 'list', description: 'Lists', parameters: { type: 'object' }, strict: true }],
  toolChoice: { mode: Mode.NAMED, name: 'list' },
  parallelToolCalls: false,
  maxOutputTokens: 100,
  sampling: {
    temperature: 0,
    topP: 0.5,
    topK: 4,
    frequencyPenalty: 1,
    presencePenalty: -1,
    seed: 7n,
    stop: ['END'],
  },
  reasoning: { effort: 'high', summary: 'auto', maxTokens: 50 },
  responseFormat: {
    format: { case: 'jsonSchema', value: { name: 'n', schema: { type: 'object' }, strict: true, description: 'd' } },
  },
  user: 'u',
  sessionId: 'raw',
  providerSession: 's',
  providerBody: { provider: { order: ['x'] }, stream: false, model: 'other' },
})

test('OpenAI gets only what its API knows, and the body cannot be replaced from outside', () => {
  const url = 'data:image/png;base64,AQI='
  assert.deepEqual(sent(request, 'openai').body, {
    provider: { order: ['x'] },
    model: 'gpt',
    stream: true,
    stream_options: { include_usage: true },
    messages: [
      { role: 'system', content: 'Be brief.' },
      {
        role: 'user',
        content: [
          { type: 'text', text: 'Look' },
          { type: 'image_url', image_url: { url, detail: 'low' } },
          { type: 'image_url', image_url: { url: 'https://x.test/a.png' } },
          { type: 'file', file: { filename: 'a.pdf', file_data: 'data:application/pdf;base64,Aw==' } },
          { type: 'input_audio', input_audio: { data: 'BA==', format: 'wav' } },
        ],
      },
      {
        role: 'assistant',
        content: null,
        tool_calls: [
          { id: 'c1', type: 'function', function: { name: 'list', arguments: '{"path":"."}' } },
          { id: 'c2', type: 'function', function: { name: 'shot', arguments: '{}' } },
        ],
      },
      { role: 'tool', tool_call_id: 'c1', content: 'a\nb' },
      { role: 'tool', tool_call_id: 'c2', content: '' },
      {
        role: 'user',
        content: [
          { type: 'text', text: 'Call c2 returned:' },
          { type: 'image_url', image_url: { url, detail: 'low' } },
        ],
      },
    ],
    max_completion_tokens: 100,
    tools: [
      {
        type: 'function',
        function: { name: 'list', description: 'Lists', parameters: { type: 'object' }, strict: true },
      },
    ],
    tool_choice: { type: 'function', function: { name: 'list' } },
    parallel_tool_calls: false,
    temperature: 0,
    top_p: 0.5,
    frequency_penalty: 1,
    presence_penalty: -1,
    seed: 7,
    stop: ['END'],
    response_format: {
      type: 'json_schema',
      json_schema: { name: 'n', schema: { type: 'object' }, strict: true, description: 'd' },
    },
    user: 'u',
    reasoning_effort: 'high',
    prompt_cache_key: 's',
  })
})

test('OpenRouter gets cache markers, thoughts with their proof, and its own members', () => {
  const body = sent(request, 'openrouter').body
  const [system, , assistant] = body.messages as Record<string, unknown>[]
  assert.deepEqual(system?.content, [
    { type: 'text', text: 'Be brief.', cache_control: { type: 'ephemeral', ttl: '1h' } },
  ])
  assert.deepEqual(assistant?.reasoning_details, [
    { type: 'reasoning.text', text: 'hm', signature: 'sig', id: 'r1' },
    { type: 'reasoning.encrypted', data: 'enc' },
  ])
  assert.deepEqual(body.reasoning, { effort: 'high', summary: 'auto', max_tokens: 50 })
  assert.deepEqual([body.max_tokens, body.top_k, body.session_id], [100, 4, 's'])
})

test('a request without settings sends none', () => {
  assert.deepEqual(sent(generationRequest({ toolChoice: { mode: Mode.NONE } }), 'compatible').body, {
    model: 'model',
    messages: [{ role: 'user', content: 'Hello' }],
    stream: true,
    stream_options: { include_usage: true },
  })
})

test('a message that ends up empty is left out', () => {
  const text = part('text', { text: 'x' })
  const thought = part('reasoning', { text: 'hm' })
  const messages: RequestInit['messages'] = [
    { role: Role.USER, parts: [text] },
    { role: Role.ASSISTANT, parts: [thought] },
    { role: Role.ASSISTANT, parts: [part('foreign', { format: 'other', item: {} })] },
    { role: Role.ASSISTANT, parts: [] },
    { role: Role.USER, parts: [part('video', { source: { case: 'url', value: 'https://a.test/a.mp4' } })] },
    { role: Role.ASSISTANT, parts: [part('refusal', { text: 'no' })] },
    { role: Role.USER, parts: [text] },
  ]
  const of = (dialect: OpenaiDialect, profile: Partial<ChatProfile> = {}) =>
    sent(generationRequest({ messages }), dialect, profile)
  const user = { role: 'user', content: 'x' }
  const refused = { role: 'assistant', content: null, refusal: 'no' }
  assert.deepEqual(of('openai').body.messages, [user, refused, user])
  assert.equal(of('openai').warnings.length, 3, 'a thought, an item and a film, each once')
  const video = { role: 'user', content: [{ type: 'video_url', video_url: { url: 'https://a.test/a.mp4' } }] }
  assert.deepEqual(of('compatible').body.messages, [user, video, refused, user])
  const held = { role: 'assistant', content: null, reasoning_content: 'hm' }
  assert.deepEqual(of('compatible', { reasoningContent: true }).body.messages, [user, held, video, refused, user])
})
