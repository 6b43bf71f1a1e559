// The limits of a generation, which the inference service checks, as a client of the Responses API meets them.
import assert from 'node:assert/strict'
import test from 'node:test'
import { hasOption } from '@bufbuild/protobuf'
import { file_portico_inference_v1_inference as file } from '#gen/portico/inference/v1/inference_pb.js'
import { limit } from '#gen/portico/options/v1/limit_pb.js'
import { generationError } from '#test/support/gateway-error.ts'
import { openPortico } from '#test/support/portico.ts'
import { type Json, post } from '#test/support/responses.ts'

/** A limit, a request that keeps it, and one that exceeds it, with the error that a client gets. */
interface Case {
  /** Field of the proto. */
  readonly limit: string
  readonly kept: Json
  readonly passed: Json
  readonly problem: string
  readonly headers?: Readonly<Record<'kept' | 'passed', Record<string, string>>>
}

const MIB = 1_048_576
const x = (length: number): string => 'x'.repeat(length)
const list = (length: number, item: unknown): unknown[] => Array(length).fill(item)
const tool = (name: string): Json => ({ type: 'function', name })
const says = (content: unknown, role = 'user'): Json => ({ role, content })
const texts = (length: number): unknown[] => list(length, { type: 'input_text', text: '' })
const call = { type: 'function_call', call_id: 'c', name: 'f', arguments: '{}' }
const result = (output: unknown): Json => ({ type: 'function_call_output', call_id: 'c', output })
const zeros = (bytes: number): string => Buffer.alloc(bytes).toString('base64')
const image = (bytes: number): Json => ({ type: 'input_image', image_url: `data:image/png;base64,${zeros(bytes)}` })
const audio = (bytes: number): Json => ({ type: 'input_audio', input_audio: { data: zeros(bytes), format: 'mp3' } })
const file_ = (member: string, bytes: number): Json => ({
  type: 'input_file',
  [member]: `data:;base64,${zeros(bytes)}`,
})
const named = (filename: string): Json => ({ type: 'input_file', file_url: 'https://example.com', filename })
const format = (name: string): Json => ({ text: { format: { type: 'json_schema', name, schema: {} } } })
const characters = (most: number): string => `must have at most ${most} characters`

/** Bounds of a number that has the same name in the proto and in the body. */
function bounds(limit: string, member: string, least: number, most: number): Case[] {
  const less = { limit, kept: { [member]: least }, passed: { [member]: least - 0.5 } }
  const more = { limit, kept: { [member]: most }, passed: { [member]: most + 0.5 } }
  return [
    { ...less, problem: `${member}: must be at least ${least}` },
    { ...more, problem: `${member}: must be at most ${most}` },
  ]
}

function length(limit: string, field: string, most: number, request: (text: string) => Json): Case {
  // A character that JavaScript counts as two counts as one.
  return {
    limit,
    kept: request('😀'.repeat(most)),
    passed: request(x(most + 1)),
    problem: `${field}: ${characters(most)}`,
  }
}

const turn = [{ ...says([{ type: 'output_text', text: '' }], 'assistant'), id: 'm', status: 'completed' }, call]

const CASES: readonly Case[] = [
  length('GenerationRequest.user', 'user', 256, (user) => ({ user, safety_identifier: 'short' })),
  length('GenerationRequest.user', 'safety_identifier', 256, (text) => ({ safety_identifier: text })),
  length('GenerationRequest.session_id', 'session_id', 256, (text) => ({
    session_id: text,
    prompt_cache_key: 'short',
  })),
  length('GenerationRequest.session_id', 'prompt_cache_key', 256, (text) => ({ prompt_cache_key: text })),
  {
    limit: 'GenerationRequest.session_id',
    kept: {},
    passed: {},
    headers: { kept: { 'x-session-id': x(256) }, passed: { 'x-session-id': x(257) } },
    problem: `x-session-id: ${characters(256)}`,
  },
  {
    limit: 'GenerationRequest.max_output_tokens',
    ...{ kept: { max_output_tokens: 1 }, passed: { max_output_tokens: 0 } },
    problem: 'max_output_tokens: must be at least 1',
  },
  {
    limit: 'GenerationRequest.max_tool_calls',
    ...{ kept: { max_tool_calls: 1 }, passed: { max_tool_calls: 0 } },
    problem: 'max_tool_calls: must be at least 1',
  },
  {
    limit: 'GenerationRequest.messages',
    kept: { input: list(20_000, says('')) },
    passed: { input: list(20_001, says('')) },
    problem: 'input: must have at most 20000 items',
  },
  {
    limit: 'GenerationRequest.tools',
    kept: { tools: list(1_024, tool('f')) },
    passed: { tools: list(1_025, tool('f')) },
    problem: 'tools: must have at most 1024 items',
  },
  length('Tool.name', 'tools.0.name', 128, (name) => ({ tools: [tool(name)] })),
  length('Tool.name', 'tools.2.name', 128, (name) => ({
    tools: [tool('f'), tool('g'), tool(name)],
    tool_choice: { type: 'allowed_tools', mode: 'auto', tools: [tool(name)] },
  })),
  {
    limit: 'JsonSchemaFormat.name',
    kept: format(x(64)),
    passed: format(x(65)),
    problem: `text.format.name: ${characters(64)}`,
  },
  {
    limit: 'Reasoning.max_tokens',
    ...{ kept: { reasoning: { max_tokens: 1 } }, passed: { reasoning: { max_tokens: 0 } } },
    problem: 'reasoning.max_tokens: must be at least 1',
  },
  ...bounds('Sampling.temperature', 'temperature', 0, 2),
  ...bounds('Sampling.top_p', 'top_p', 0, 1),
  ...bounds('Sampling.frequency_penalty', 'frequency_penalty', -2, 2),
  ...bounds('Sampling.presence_penalty', 'presence_penalty', -2, 2),
  { limit: 'Sampling.top_k', kept: { top_k: 0 }, passed: { top_k: -1 }, problem: 'top_k: must be at least 0' },
  ...(['only', 'ignore'] as const).map((member) => ({
    limit: `Routing.${member}`,
    kept: { provider: { [member]: list(member === 'only' ? 0 : 256, 'nobody') } },
    passed: { provider: { [member]: list(257, 'nobody') } },
    problem: `provider.${member}: must have at most 256 items`,
  })),
  {
    limit: 'Routing.quantizations',
    ...{ kept: {}, passed: { provider: { quantizations: list(65, 'fp8') } } },
    problem: 'provider.quantizations: must have at most 64 items',
  },
  {
    limit: 'Sampling.top_log_probabilities',
    ...{ kept: { top_logprobs: 20 }, passed: { top_logprobs: 21 } },
    problem: 'top_logprobs: must be at most 20',
  },
  {
    limit: 'Message.parts',
    kept: { input: [says('x'), says(texts(10_000))] },
    passed: { input: [says('x'), says(texts(10_001))] },
    problem: 'input.1.content: must have at most 10000 items',
  },
  {
    limit: 'ToolResultPart.content',
    kept: { input: [call, result(texts(10_000))] },
    passed: { input: [call, result(texts(10_001))] },
    problem: 'input.1.output: must have at most 10000 items',
  },
  length('MediaPart.name', 'input.0.content.1.filename', 1_024, (name) => ({
    input: [says([{ type: 'input_text', text: '' }, named(name)])],
  })),
  length('MediaPart.name', 'input.3.output.1.filename', 1_024, (name) => ({
    instructions: 'Be brief.',
    input: [...turn, result('x'), result([{ type: 'input_text', text: '' }, named(name)])],
  })),
  ...(
    [
      ['image_url', image],
      ['file_data', (bytes: number) => file_('file_data', bytes)],
      ['file_url', (bytes: number) => file_('file_url', bytes)],
      ['input_audio.data', audio],
    ] as const
  ).map(([member, part]) => ({
    limit: 'MediaPart.data',
    kept: { input: [says([part(20 * MIB)])] },
    passed: { input: [says('x'), says([part(20 * MIB + 1)])] },
    problem: `input.1.content.0.${member}: must have at most ${20 * MIB} bytes`,
  })),
]

/**
 * Limits that no request of the Responses API exceeds: the gateway makes the value, accepts only a few words, or has no
 * such member here.
 */
const BEYOND_REACH = [
  ...['referer', 'title', 'categories', 'user_agent'].map((name) => `Attribution.${name}`),
  ...['extensions', 'hosted_tools', 'metadata', 'not_applied', 'preset', 'service_tier', 'speed'].map(
    (name) => `GenerationRequest.${name}`,
  ),
  ...['preferences', 'max_input_nanos', 'max_output_nanos'].map((name) => `Routing.${name}`),
  ...['cleared', 'logit_bias', 'min_p', 'repetition_penalty', 'top_a'].map((name) => `Sampling.${name}`),
  ...['hosted_types', 'names', 'server_labels'].map((name) => `AllowedTools.${name}`),
  ...['total_ms', 'headers_ms', 'chunk_ms'].map((name) => `ProviderTimeouts.${name}`),
  ...['ProviderExtension.headers', 'TextPart.sources', 'ToolNamespace.name'],
  'GenerationRequest.request_id',
  'GenerationRequest.provider_headers',
  'GenerationRequest.verbosity',
  'Sampling.stop',
]

test('the service alone decides how much a request may hold, and its error names the member', async () => {
  await using portico = await openPortico()
  for (const { limit, kept, passed, problem, headers } of CASES) {
    const base = { model: 'portico/echo', input: 'Hello' }
    const good = await post(portico, { ...base, ...kept }, headers?.kept)
    assert.equal(good.status, 200, `${limit}: ${(await good.text()).slice(0, 500)}`)
    // Of megabytes, which take a while, once is enough.
    for (const stream of limit === 'MediaPart.data' ? [false] : [false, true]) {
      const answer = await post(portico, { ...base, ...passed, stream }, headers?.passed)
      assert.deepEqual(await answer.json(), generationError(400, `Invalid request parameters: ${problem}`))
      assert.equal(answer.status, 400)
      assert.deepEqual(portico.rejections.splice(0), ['REQUEST_INVALID'], limit)
    }
  }
})

test('a name of a model is measured before it is looked up', async () => {
  await using portico = await openPortico()
  for (const [size, problem, reason] of [
    [512, `The model "${x(256)}" does not exist; GET /api/v1/models lists all models`, 'MODEL_NOT_FOUND'],
    [513, characters(512), 'REQUEST_INVALID'],
  ] as const) {
    const answer = await post(portico, { model: x(size), input: 'Hello' })
    assert.deepEqual(await answer.json(), generationError(400, `Invalid request parameters: model: ${problem}`))
    assert.deepEqual(portico.rejections.splice(0), [reason])
  }
})

test('each limit that the proto sets is tested here', () => {
  const set = file.messages.flatMap(({ name: message, fields }) =>
    fields.flatMap((field) => (hasOption(field, limit) ? [`${message}.${field.name}`] : [])),
  )
  const tried = new Set([...CASES.map(({ limit }) => limit), ...BEYOND_REACH, 'GenerationRequest.model'])
  assert.deepEqual([...tried].toSorted(), set.toSorted())
})
