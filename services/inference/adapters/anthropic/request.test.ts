import assert from 'node:assert/strict'
import { test } from 'node:test'
import { FinishReason, ToolChoice_Mode as Mode, Message_Role as Role } from '#gen/portico/inference/v1/inference_pb.js'
import { eventsOf, generationRequest, part, type RequestInit, wholeEventsOf } from '#test/support/generation.ts'
import { answers, startStub, streams } from '#test/support/provider-stub.ts'
import { silentLogger } from '#test/support/transports.ts'
import { ProviderSet } from '../providers/provider-set.ts'
import { ANTHROPIC } from './extension.ts'
import { anthropicBody, maxTokensOf } from './request.ts'
import { anthropicWarnings } from './warnings.ts'

const OPENAI = 'openai-responses-v1'
const schema = { type: 'object', properties: {} }
const tool = { name: 'find', parameters: schema }

function bodyOf(request: RequestInit): Record<string, unknown> {
  return anthropicBody(generationRequest(request))
}

function fieldsOf(request: RequestInit): string[] {
  return anthropicWarnings(generationRequest(request)).map(({ field }) => field)
}

async function open(answer: Parameters<typeof startStub>[0]) {
  const stub = await startStub(answer)
  const config = { id: 'p', protocol: 'anthropic', apiKey: 'k', headers: {}, models: [], baseUrl: stub.url } as const
  const set = new ProviderSet([config], 3_600_000, silentLogger)
  return {
    stub,
    provider: set.byId.get('p') ?? assert.fail(),
    async [Symbol.asyncDispose]() {
      await set[Symbol.asyncDispose]()
      await stub[Symbol.asyncDispose]()
    },
  }
}

const event = (type: string, members: object) => `event: ${type}\ndata: ${JSON.stringify({ type, ...members })}\n\n`

/** A whole stream of blocks, each with its deltas. */
function streamOf(...blocks: readonly (readonly [object, ...object[]])[]): string {
  const grown = blocks.map(([content_block, ...deltas], index) => {
    const between = deltas.map((delta) => event('content_block_delta', { index, delta })).join('')
    return event('content_block_start', { index, content_block }) + between + event('content_block_stop', { index })
  })
  const end = { delta: { stop_reason: 'stop_sequence', stop_sequence: 'END' }, usage: { output_tokens: 1 } }
  const start = event('message_start', { message: { usage: { input_tokens: 1 } } })
  return start + grown.join('') + event('message_delta', end) + event('message_stop', {})
}

test('members for this API alone are sent unchanged, and never override the request', () => {
  const extensions: NonNullable<RequestInit['extensions']> = [
    {
      format: ANTHROPIC,
      headers: {},
      body: {
        model: 'other',
        context_management: { edits: [] },
        thinking: { type: 'adaptive', display: 'omitted' },
        output_config: { effort: 'xhigh', task_budget: { type: 'tokens', total: 20_000 } },
        tools: [{ name: 'find', input_examples: [{ a: 1 }] }],
      },
    },
    { format: OPENAI, headers: {}, body: { store: true } },
  ]
  const search = { type: 'web_search_20250305', name: 'web_search', max_uses: 3 }
  const hostedTools = [
    { format: ANTHROPIC, definition: search },
    { format: OPENAI, definition: { type: 'file_search' } },
  ]
  const request = {
    extensions,
    hostedTools,
    tools: [tool],
    toolChoice: { mode: Mode.HOSTED, name: 'web_search_20250305' },
    reasoning: { effort: 'low' },
    responseFormat: { format: { case: 'jsonSchema' as const, value: { name: 'n', schema } } },
    serviceTier: 'default',
    speed: 'fast',
  } satisfies RequestInit
  const body = bodyOf(request)
  assert.equal(body.model, 'model')
  assert.equal('store' in body, false)
  assert.deepEqual(body.context_management, { edits: [] })
  assert.deepEqual(body.thinking, { type: 'adaptive', display: 'omitted' })
  const format = { type: 'json_schema', schema }
  assert.deepEqual(body.output_config, { effort: 'xhigh', task_budget: { type: 'tokens', total: 20_000 }, format })
  assert.deepEqual(body.tools, [{ name: 'find', input_examples: [{ a: 1 }], input_schema: schema }, search])
  assert.deepEqual(body.tool_choice, { type: 'tool', name: 'web_search' })
  assert.deepEqual([body.service_tier, body.speed], ['standard_only', 'fast'])
  assert.deepEqual(fieldsOf(request), ['hosted_tools[1]', 'extensions[1].store'])
})

test('members that the API cannot accept are named', () => {
  const grammar = { syntax: 'lark', grammar: 'start: "a"' }
  const text = part('text', { text: 'x' })
  const fields = fieldsOf({
    tools: [{ ...tool, custom: grammar, deferred: true }],
    serviceTier: 'flex',
    providerBody: { modalities: ['image'] },
    reasoning: { summary: 'auto', maxTokens: 2_000 },
    messages: [
      { role: Role.USER, parts: [text] },
      { role: Role.SYSTEM, parts: [text] },
      { role: Role.ASSISTANT, parts: [part('reasoning', { text: 'hm', encrypted: 'e', format: OPENAI })] },
      { role: Role.USER, parts: [part('foreign', { format: OPENAI, item: {} }), text] },
    ],
  })
  const settings = ['service_tier', 'provider_body.modalities', 'tools', 'tools', 'reasoning.summary']
  const parts = ['messages[1]', 'messages[2].parts[0]', 'messages[3].parts[0]']
  assert.deepEqual(fields.toSorted(), [...settings, ...parts].toSorted())
})

test('an answer and a budget get no more tokens than the model allows, and the number sent is the number reported', () => {
  const opus = { modelId: 'claude-opus-4-1' }
  for (const [request, max_tokens, budget_tokens] of [
    [{ modelId: 'claude-3-opus-20240229' }, 4_096, undefined],
    [{ modelId: 'nobody-knows', reasoning: { maxTokens: 200_000 } }, 201_024, 200_000],
    [{ ...opus, reasoning: { maxTokens: 200_000 } }, 32_000, 30_976],
    [{ ...opus, reasoning: { maxTokens: 200_000 }, maxOutputTokens: 5_000 }, 5_000, 4_000],
    [{ ...opus, reasoning: { maxTokens: 4_500 }, maxOutputTokens: 5_000 }, 5_000, 4_500],
    [{ ...opus, reasoning: { maxTokens: 500 }, maxOutputTokens: 5_000 }, 5_000, 1_024],
    [{ ...opus, reasoning: { effort: 'medium' }, maxOutputTokens: 10_001 }, 10_001, 8_000],
    [{ ...opus, reasoning: { effort: 'high' }, maxOutputTokens: 1_200 }, 1_200, 1_024],
    [{ ...opus, reasoning: { effort: 'high' }, maxOutputTokens: 1_024 }, 1_024, undefined],
  ] as const) {
    const body = bodyOf(request)
    assert.equal(body.max_tokens, max_tokens)
    assert.equal((body.thinking as { budget_tokens?: number } | undefined)?.budget_tokens, budget_tokens)
    assert.equal(maxTokensOf(generationRequest(request)), max_tokens)
  }
})

test('sound and video are left out and named, wherever they stand, and the rest goes on', () => {
  const text = part('text', { text: 'x' })
  const audio = part('audio', { source: { case: 'data', value: Uint8Array.of(1) }, mime: 'audio/wav' })
  const video = part('video', { source: { case: 'url', value: 'https://a.test/a.mp4' } })
  const result = part('toolResult', { callId: 'c', content: [text, video] })
  const block = { type: 'text', text: 'x' }
  const request = {
    messages: [
      { role: Role.USER, parts: [audio, text] },
      { role: Role.TOOL, parts: [result] },
    ],
  } as const
  const answered = { type: 'tool_result', tool_use_id: 'c', content: [block] }
  assert.deepEqual(bodyOf(request).messages, [{ role: 'user', content: [block, answered] }])
  assert.deepEqual(fieldsOf(request), ['messages[0].parts[0]', 'messages[1].parts[0]'])
})

test('call ids that the API would refuse are replaced there, in each turn the same way, for a call and for its result', () => {
  const idsOf = (...ids: readonly string[]): unknown[] => {
    const calls = ids.map((callId) => part('toolCall', { callId, name: 'find', arguments: '{}' }))
    const results = ids.map((callId) => part('toolResult', { callId }))
    const messages = [
      { role: Role.ASSISTANT, parts: calls },
      { role: Role.TOOL, parts: results },
    ] as const
    const said = bodyOf({ messages }).messages as { content: Record<string, unknown>[] }[]
    const [made, answered] = said.map(({ content }) => content.map((block) => block.id ?? block.tool_use_id))
    assert.deepEqual(made, answered)
    return made ?? assert.fail()
  }
  const odd = ['call:1', 'functions.find:0', 'call 1', 'ü', '']
  const taken = idsOf(...odd)
  for (const id of taken) assert.match(String(id), /^[A-Za-z0-9_-]+$/)
  assert.equal(new Set(taken).size, odd.length)
  assert.deepEqual(idsOf('toolu_01-a', ...odd), ['toolu_01-a', ...taken])
})

test('a text without a word, which the API would refuse, is left out', () => {
  const parts = [' ', '\n\n', 'a '].map((text) => part('text', { text }))
  assert.deepEqual(bodyOf({ messages: [{ role: Role.ASSISTANT, parts }] }).messages, [
    { role: 'assistant', content: [{ type: 'text', text: 'a ' }] },
  ])
})

test('sends Anthropic’s own items, and the extras of its parts, back unchanged, and none of other providers', () => {
  const item = { type: 'server_tool_use', id: 's', name: 'web_search', input: { query: 'q' } }
  const citations = [{ type: 'web_search_result_location', encrypted_index: 'E' }]
  const proof = { signature: 's', format: OPENAI }
  const { messages } = bodyOf({
    messages: [
      {
        role: Role.ASSISTANT,
        parts: [
          part('foreign', { format: ANTHROPIC, item }),
          part('foreign', { format: OPENAI, item }),
          part('reasoning', { text: 'other', ...proof }),
          part('reasoning', { text: 'own', signature: 's', format: ANTHROPIC }),
          part('text', { text: 't' }, { providerMetadata: { [ANTHROPIC]: { citations, type: 'no' }, citations: [] } }),
        ],
      },
    ],
  })
  const thinking = { type: 'thinking', thinking: 'own', signature: 's' }
  assert.deepEqual(messages, [{ role: 'assistant', content: [item, thinking, { citations, type: 'text', text: 't' }] }])
})

test('free-form tools and those of namespaces are sent as ordinary tools, and their calls come back in the original form', async () => {
  const custom = { ...tool, name: 'patch', description: 'Patches', parameters: undefined, custom: NO_GRAMMAR }
  const spaced = { ...tool, namespace: { name: 'docs', description: undefined } }
  const tools = [tool, spaced, custom]
  const call = part('toolCall', { callId: 'c', name: 'patch', arguments: '*** Begin', custom: true })
  const body = bodyOf({ tools, messages: [{ role: Role.ASSISTANT, parts: [call] }] })
  const named = body.tools as { name: string; input_schema: object }[]
  assert.deepEqual(
    named.map(({ name }) => name),
    ['find', 'docs_find', 'patch'],
  )
  assert.deepEqual(named[2]?.input_schema, {
    type: 'object',
    properties: { input: { type: 'string' } },
    required: ['input'],
  })
  const input = { input: '*** Begin' }
  assert.deepEqual(body.messages, [
    { role: 'assistant', content: [{ type: 'tool_use', id: 'c', name: 'patch', input }] },
  ])
  const json = (partial_json: string) => ({ type: 'input_json_delta', partial_json })
  await using opened = await open(
    streams(
      streamOf(
        [{ type: 'tool_use', id: 'c1', name: 'patch', input: {} }, json('{"input": "*** B'), json('egin"}')],
        [{ type: 'tool_use', id: 'c2', name: 'docs_find', input: {} }, json('{"a":1}')],
      ),
    ),
  )
  const events = await eventsOf(opened.provider, { tools })
  const parts = events.flatMap((event) => (event.case === 'partEnded' ? [event.part] : []))
  assert.deepEqual(parts, [
    { case: 'toolCall', callId: 'c1', name: 'patch', arguments: '*** Begin', custom: true },
    { case: 'toolCall', callId: 'c2', name: 'find', arguments: '{"a":1}', namespace: 'docs' },
  ])
  assert.deepEqual(events.at(-1), {
    case: 'finished',
    reason: FinishReason.STOP,
    rawReason: 'stop_sequence',
    stopText: 'END',
  })
})

const NO_GRAMMAR = { syntax: undefined, grammar: undefined }

test('Anthropic’s own blocks come whole, even if they were streamed in deltas', async () => {
  const result = { type: 'web_search_tool_result', tool_use_id: 's', content: [{ type: 'web_search_result' }] }
  const delta = { type: 'compaction_delta', content: 'so far', encrypted_content: 'E' }
  await using opened = await open(streams(streamOf([result], [{ type: 'compaction', content: null }, delta])))
  const events = await eventsOf(opened.provider)
  const parts = events.flatMap((event) => (event.case === 'partEnded' ? [event.part] : []))
  assert.deepEqual(parts, [
    { case: 'foreign', format: ANTHROPIC, item: result },
    { case: 'foreign', format: ANTHROPIC, item: { type: 'compaction', content: 'so far', encrypted_content: 'E' } },
  ])
})

test('a whole answer of more than 21,333 tokens is requested as a stream, and betas are sent along, with that of a fast answer', async () => {
  for (const [maxOutputTokens, streamed] of [
    [21_333, false],
    [21_334, true],
    [undefined, true],
  ] as const) {
    const message = { content: [{ type: 'text', text: 'x' }], stop_reason: 'end_turn' }
    await using opened = await open(streamed ? streams(streamOf([{ type: 'text', text: 'x' }])) : answers(200, message))
    const extensions = [{ format: ANTHROPIC, headers: { 'anthropic-beta': 'a-2026' }, body: undefined }]
    const request = { maxOutputTokens, extensions, speed: 'fast' }
    const events = await wholeEventsOf(opened.provider, request)
    assert.equal(events.at(-1)?.case, 'finished')
    const [seen = assert.fail()] = opened.stub.seen
    assert.equal((seen.body as { stream: boolean }).stream, streamed, String(maxOutputTokens))
    assert.equal(seen.headers['anthropic-beta'], 'a-2026,fast-mode-2026-02-01')
  }
})
