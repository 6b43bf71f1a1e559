import assert from 'node:assert/strict'
import { test } from 'node:test'
import { create } from '@bufbuild/protobuf'
import {
  FinishReason,
  ToolChoice_Mode as Mode,
  Message_Role as Role,
  type Tool,
  ToolSchema,
} from '#gen/portico/inference/v1/inference_pb.js'
import { PartStarted_Kind as Kind } from '#gen/portico/inference/v1/inference_service_pb.js'
import { FlatTools } from '#services/inference/domain/flat-tools.ts'
import type { ProviderEvent } from '#services/inference/domain/generation.ts'
import { Omissions } from '#services/inference/domain/left-out.ts'
import type { JsonObject } from '#shared/json.ts'
import { type FlatEvent, flat, generationRequest, part, type RequestInit } from '#test/support/generation.ts'
import { reasonOfRejection } from '#test/support/reason-of-rejection.ts'
import type { ChatProfile, OpenaiDialect } from './dialect.ts'
import { OpenaiMapper } from './mapper.ts'
import { openaiBody, openaiWarnings } from './request.ts'

function requestOf(dialect: OpenaiDialect, request: RequestInit, more: Partial<ChatProfile> = {}) {
  const profile = { dialect, reasoningContent: false, isGoogle: false, ...more }
  const full = generationRequest(request)
  const omissions = new Omissions(openaiWarnings(full, profile))
  const body = openaiBody(full, { profile, omissions }, true)
  return { body, warnings: omissions.warnings.map(({ field }) => field).toSorted() }
}

const drawn = {
  ...{ temperature: 1, topP: 1, topK: 4, frequencyPenalty: 0, presencePenalty: 0, seed: 7n },
  ...{ minP: 0.1, topA: 0.2, repetitionPenalty: 1.1, logitBias: { 5: 1 }, topLogProbabilities: 0 },
  stop: ['a', 'b', 'c', 'd', 'e'],
}

test('each dialect gets the settings that it has; others are named', () => {
  const request = { sampling: drawn, prediction: 'p', speed: 'fast', maxToolCalls: 3 }
  const common = { temperature: 1, top_p: 1, frequency_penalty: 0, presence_penalty: 0, seed: 7 }
  const shared = { ...common, logit_bias: { 5: 1 }, logprobs: true, prediction: { type: 'content', content: 'p' } }
  const open = { ...shared, top_k: 4, min_p: 0.1, repetition_penalty: 1.1, stop: drawn.stop }
  const own = ['sampling.min_p', 'sampling.repetition_penalty', 'sampling.stop', 'sampling.top_a', 'sampling.top_k']
  const said = { model: 'model', messages: [{ role: 'user', content: 'Hello' }], stream: false }
  for (const [dialect, members, warnings] of [
    ['openai', { ...shared, stop: ['a', 'b', 'c', 'd'], service_tier: 'priority' }, ['max_tool_calls', ...own]],
    ['openrouter', { ...open, top_a: 0.2, service_tier: 'priority', max_tool_calls: 3 }, []],
    ['compatible', open, ['max_tool_calls', 'sampling.top_a', 'speed']],
  ] as const) {
    assert.deepEqual(requestOf(dialect, request), { body: { ...said, ...members }, warnings }, dialect)
  }
})

test('response formats and pictures that only open models support are not sent to OpenAI', () => {
  const providerBody = { modalities: ['text', 'image'], image_config: { size: 'big' }, own: 1 }
  const pictures = ['provider_body.image_config', 'provider_body.modalities']
  for (const [format, sent] of [
    [{ case: 'grammar', value: { grammar: 'root ::= "x"' } } as const, { type: 'grammar', grammar: 'root ::= "x"' }],
    [{ case: 'python', value: {} } as const, { type: 'python' }],
  ] as const) {
    const responseFormat = { format } as RequestInit['responseFormat']
    for (const dialect of ['openrouter', 'compatible'] as const) {
      const { body, warnings } = requestOf(dialect, { responseFormat, providerBody })
      const { modalities, image_config, own } = body
      assert.deepEqual([body.response_format, { modalities, image_config, own }, warnings], [sent, providerBody, []])
    }
    const { body, warnings } = requestOf('openai', { responseFormat, providerBody })
    assert.deepEqual(
      [body.response_format, body.modalities, body.image_config, body.own],
      [undefined, undefined, undefined, 1],
    )
    assert.deepEqual(warnings, [...pictures, `response_format.${sent.type}`])
  }
})

const patch = create(ToolSchema, { name: 'patch', custom: { syntax: 'regex', grammar: 'x' } })
const call = { callId: 'c1', name: 'patch', arguments: 'diff', custom: true }

test('OpenAI gets custom tools; other dialects get none, refuse a required one, and get calls of one as calls of functions', () => {
  const request = { tools: [patch], toolChoice: { mode: Mode.NAMED, name: 'patch' } } as const
  const messages = [{ role: Role.ASSISTANT, parts: [part('toolCall', call)] }]
  const { body } = requestOf('openai', { ...request, messages })
  const format = { type: 'grammar', grammar: { syntax: 'regex', definition: 'x' } }
  assert.deepEqual(body.tools, [{ type: 'custom', custom: { name: 'patch', description: undefined, format } }])
  assert.deepEqual(body.tool_choice, { type: 'custom', custom: { name: 'patch' } })
  const custom = { name: 'patch', input: 'diff' }
  assert.deepEqual(Object(body.messages)[0].tool_calls, [{ id: 'c1', type: 'custom', custom }])
  for (const dialect of ['openrouter', 'compatible'] as const) {
    const { body, warnings } = requestOf(dialect, { tools: [patch], messages })
    assert.deepEqual([body.tools, warnings], [undefined, ['tools[0].custom']])
    const [{ function: called }] = Object(body.messages)[0].tool_calls
    assert.deepEqual(called, { name: 'patch', arguments: '{"input":"diff"}' })
    assert.throws(() => requestOf(dialect, request), reasonOfRejection('REQUEST_INVALID'))
  }
})

test('content that only another kind of provider knows is left out and named: hosted tools, items, extensions, proofs', () => {
  const format = 'openai-responses-v1'
  const request: RequestInit = {
    hostedTools: [{ format, definition: { type: 'web_search' } }],
    extensions: [{ format, headers: {}, body: { background: true } }],
    messages: [
      {
        role: Role.ASSISTANT,
        parts: [
          part('foreign', { format, item: { type: 'web_search_call' } }),
          part('reasoning', { encrypted: 'e', format }),
          part('text', { text: 'Hi' }),
        ],
      },
    ],
  }
  const { body, warnings } = requestOf('compatible', request)
  assert.deepEqual(body.messages, [{ role: 'assistant', content: 'Hi' }])
  assert.deepEqual(
    ['hosted_tools[0]', 'extensions[0].background', 'messages[0].parts[0]', 'messages[0].parts[1]'].filter(
      (field) => !warnings.includes(field),
    ),
    [],
  )
  const { body: routed, warnings: routedWarnings } = requestOf('openrouter', request)
  const [{ reasoning_details: details }] = Object(routed.messages)
  assert.deepEqual(details, [{ type: 'reasoning.encrypted', data: 'e', format }])
  assert.ok(routedWarnings.includes('messages') && !routedWarnings.includes('messages[0].parts[1]'))
  assert.throws(
    () => requestOf('openai', { ...request, toolChoice: { mode: Mode.HOSTED, name: 'web_search' } }),
    reasonOfRejection('REQUEST_INVALID'),
  )
})

test('the proof of a call goes back as it came, to Google and to proxies before it; for others it is reported as left out', () => {
  for (const [member, wanted] of [
    ['google', true],
    ['vertex', true],
    ['acme', false],
  ] as const) {
    const extra = { [member]: { thought_signature: 'sig' } }
    const called = { id: 'c1', function: { name: 'patch', arguments: '{}' }, extra_content: extra }
    const messages = [{ role: Role.ASSISTANT, parts: endedIn(whole({ tool_calls: [called] }, [])) }]
    for (const [dialect, modelId, isGoogle] of [
      ['compatible', 'model', true],
      ['compatible', 'google/Gemini-3-pro', false],
      ['compatible', 'model', false],
      ['openai', 'gemini', false],
    ] as const) {
      const { body, warnings } = requestOf(dialect, { messages, modelId }, { isGoogle })
      const [{ extra_content: returned }] = Object(body.messages)[0].tool_calls
      const goesBack = wanted && dialect === 'compatible' && (isGoogle || modelId !== 'model')
      assert.deepEqual(
        [returned, warnings],
        goesBack ? [extra, []] : [undefined, ['messages[0].parts[0]']],
        `${member} ${dialect} ${modelId} ${isGoogle}`,
      )
    }
  }
})

function whole(message: JsonObject, tools: readonly Tool[]): ProviderEvent[] {
  const mapper = new OpenaiMapper('p', [], new FlatTools(tools))
  mapper.whole({ choices: [{ message, finish_reason: 'stop' }] })
  return mapper.take()
}

/** The parts that have ended, as messages. */
const endedIn = (events: readonly ProviderEvent[]) =>
  events.flatMap(({ event }) => (event.case === 'partEnded' && event.value.part ? [event.value.part] : []))

const partsOf = (events: readonly FlatEvent[]) =>
  events.flatMap((event) => (event.case === 'partEnded' ? [event.part] : []))

test('tools of namespaces have one name each at a provider that knows none, and a call finds its tool again', () => {
  const tool = (name: string, namespace?: string): Tool =>
    create(ToolSchema, { name, namespace: namespace === undefined ? undefined : { name: namespace } })
  const tools = [tool('list', 'a'), tool('list', 'b'), tool('read', 'a'), tool('write')]
  const { body } = requestOf('compatible', { tools })
  const names = Object(body.tools).map(({ function: { name } }: { function: { name: string } }) => name)
  assert.deepEqual(names, ['a_list', 'b_list', 'read', 'write'])
  const calls = names.map((name: string) => ({ id: name, function: { name, arguments: '{}' } }))
  const called = partsOf(flat(whole({ tool_calls: calls }, tools)))
  assert.deepEqual(
    called.map((part) => part.case === 'toolCall' && [part.name, part.namespace]),
    [
      ['list', 'a'],
      ['list', 'b'],
      ['read', 'a'],
      ['write', undefined],
    ],
  )
})

test('OpenRouter gets the proof of a call by the id of the call, whoever made it', () => {
  const format = 'google-gemini-v1'
  const parts = [part('toolCall', { ...call, custom: false, arguments: '{}', signature: 'sig', format })]
  const { body, warnings } = requestOf('openrouter', { messages: [{ role: Role.ASSISTANT, parts }] })
  const [message] = body.messages as JsonObject[]
  assert.deepEqual(message?.reasoning_details, [{ type: 'reasoning.encrypted', data: 'sig', id: 'c1', format }])
  assert.deepEqual(warnings, [])
})

test('custom calls, proofs of calls, log probabilities, stop texts, tiers and costs are read', () => {
  const custom = { id: 'c1', type: 'custom', custom: { name: 'patch', input: 'diff' } }
  const proved = { id: 'c2', function: { name: 'f', arguments: '{}' } }
  const extra = { extra_content: { google: { thought_signature: 'sig' } } }
  const logprobs = { content: [{ token: 'Hi', logprob: -0.5, bytes: [72, 105], top_logprobs: [] }] }
  const mapper = new OpenaiMapper('p', [])
  mapper.whole({
    service_tier: 'flex',
    choices: [
      {
        message: { content: 'Hi', tool_calls: [custom, { ...proved, ...extra }] },
        ...{ finish_reason: 'stop', stop_reason: 'END', logprobs },
      },
    ],
    usage: {
      ...{ prompt_tokens: 1, completion_tokens: 2, cost: 0.001, is_byok: true },
      cost_details: { upstream_inference_cost: 0.02, upstream_inference_completions_cost: 0.015 },
    },
  })
  const events = flat(mapper.take())
  assert.deepEqual(partsOf(events), [
    { case: 'text', text: 'Hi' },
    { case: 'toolCall', ...call },
    {
      ...{ case: 'toolCall', callId: 'c2', name: 'f', arguments: '{}' },
      signature: 'sig',
      format: 'google-gemini-v1',
    },
  ])
  const spoken = events.find(({ case: name }) => name === 'partExtended')
  const token = { token: 'Hi', logProbability: -0.5, tokenBytes: Uint8Array.of(72, 105) }
  assert.deepEqual(spoken, { case: 'partExtended', index: 0, text: 'Hi', logProbabilities: [token] })
  const usage = events.find((event) => event.case === 'usage')
  assert.deepEqual(usage?.cost, { nanos: 21_000_000n, outputNanos: 15_000_000n })
  const end = {
    case: 'finished',
    reason: FinishReason.TOOL_CALLS,
    rawReason: 'stop',
    stopText: 'END',
    serviceTier: 'flex',
  }
  assert.deepEqual(events.at(-1), end)
})

test('the proof of a call is known when the call begins, even if it comes before its name', () => {
  const proved = (call: object, signature?: string) => ({
    ...{ index: 0, ...call },
    ...(signature && { extra_content: { google: { thought_signature: signature } } }),
  })
  const named = { id: 'c', function: { name: 'f', arguments: '{}' } }
  for (const calls of [[proved(named, 'sig')], [proved({ id: 'c' }, 'sig'), proved(named)]]) {
    const mapper = new OpenaiMapper('p', [])
    for (const call of calls) mapper.push(JSON.stringify({ choices: [{ delta: { tool_calls: [call] } }] }))
    const begun = flat(mapper.take()).find(({ case: name }) => name === 'partStarted')
    const proof = { signature: 'sig', format: 'google-gemini-v1' }
    const toolCall = { callId: 'c', name: 'f', ...proof }
    assert.deepEqual(begun, { case: 'partStarted', index: 0, kind: Kind.TOOL_CALL, toolCall })
    mapper.push('[DONE]')
    assert.deepEqual(partsOf(flat(mapper.take())), [
      { case: 'toolCall', callId: 'c', name: 'f', arguments: '{}', ...proof },
    ])
  }
})

test('a streamed text with log probabilities is parsed even after a text without any', () => {
  const mapper = new OpenaiMapper('p', [])
  const said = (content: string, logprobs: unknown = null) =>
    mapper.push(JSON.stringify({ choices: [{ delta: { content }, logprobs, finish_reason: null }] }))
  said('a')
  said('b', { content: [{ token: 'b', logprob: -1 }] })
  said('b', { content: [{ token: 'b', logprob: -1 }] })
  const tokens = flat(mapper.take()).flatMap((event) =>
    event.case === 'partExtended' ? [event.logProbabilities?.length] : [],
  )
  assert.deepEqual(tokens, [undefined, 1, 1])
})
