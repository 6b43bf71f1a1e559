import assert from 'node:assert/strict'
import test from 'node:test'
import { ask, messageOf, openAnthropic, post, stream } from '#test/support/messages.ts'
import { openPortico } from '#test/support/portico.ts'
import { created } from '#test/support/presets.ts'
import { answers, fixture, startStub, streams } from '#test/support/provider-stub.ts'
import type { Json } from '#test/support/responses.ts'

const hello = { model: 'portico/echo', max_tokens: 100, messages: [{ role: 'user', content: '/length 3' }] }
const usage = {
  ...{ input_tokens: 2, output_tokens: 3, cache_creation_input_tokens: 0, cache_read_input_tokens: 0 },
  ...{ cache_creation: null, output_tokens_details: { thinking_tokens: 0 }, server_tool_use: null },
  ...{ service_tier: null, inference_geo: null, speed: null, iterations: null, is_byok: false, cost: 0 },
  cost_details: {
    upstream_inference_cost: null,
    upstream_inference_input_cost: 0,
    upstream_inference_output_cost: 0,
  },
}

test('a whole message has every member, and names its generation', async () => {
  await using portico = await openPortico()
  const answer = await post(portico, hello)
  const message = (await answer.json()) as { id: string }
  assert.deepEqual(message, {
    id: message.id,
    type: 'message',
    role: 'assistant',
    model: 'portico/echo',
    content: [{ type: 'text', text: 'the quick brown' }],
    stop_reason: 'end_turn',
    stop_sequence: null,
    stop_details: null,
    container: null,
    usage,
    provider: 'portico',
  })
  assert.equal(answer.headers.get('x-generation-id'), message.id.replace('msg_', 'gen-'))
  assert.equal(answer.headers.get('request-id'), answer.headers.get('x-generation-id'))
})

test('a streamed message has the exact wire form', async () => {
  await using portico = await openPortico()
  const events = await stream(portico, hello)
  const id = events[0]?.message.id
  const started = {
    ...{ id, type: 'message', role: 'assistant', model: 'portico/echo', content: [], stop_reason: null },
    ...{ stop_sequence: null, stop_details: null, container: null, provider: 'portico' },
  }
  const { cost: _1, cost_details: _2, ...nothing } = { ...usage, input_tokens: 0, output_tokens: 0 }
  const word = (text: string) => ({
    type: 'content_block_delta',
    index: 0,
    delta: { type: 'text_delta', text },
  })
  const words = events.filter(({ type }) => type === 'content_block_delta')
  assert.equal(words.map(({ delta }) => delta.text).join(''), 'the quick brown')
  assert.deepEqual(events, [
    { type: 'message_start', message: { ...started, usage: nothing } },
    { type: 'ping' },
    { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
    ...words.map(({ delta }) => word(delta.text)),
    { type: 'content_block_stop', index: 0 },
    {
      type: 'message_delta',
      delta: { stop_reason: 'end_turn', stop_sequence: null, stop_details: null, container: null },
      usage,
    },
    { type: 'message_stop' },
  ])
})

for (const name of ['anthropic-tools', 'anthropic-sources']) {
  test(`${name}: an answer of Anthropic comes out unchanged, whole and streamed`, async () => {
    const given = JSON.parse(fixture(`${name}.json`))
    await using whole = await startStub(answers(200, given))
    await using streamed = await startStub(streams(fixture(`${name}.sse`)))
    const request = { ...hello, model: 'anthropic/claude-sonnet-5-5', tools: TOOLS }
    await using first = await openAnthropic(whole)
    await using second = await openAnthropic(streamed)
    const message = await ask(first, request)
    const same = messageOf(await stream(second, request))
    for (const got of [message, same]) {
      assert.deepEqual(got.content, given.content)
      assert.equal(got.stop_reason, given.stop_reason)
      assert.equal(got.usage.input_tokens, given.usage.input_tokens)
      assert.equal(got.usage.cache_read_input_tokens, given.usage.cache_read_input_tokens ?? 0)
    }
    assert.deepEqual({ ...same, id: '' }, { ...message, id: '' })
    for (const [stub, asked] of [
      [whole, false],
      [streamed, true],
    ] as const) {
      const [seen = assert.fail()] = stub.seen
      assert.equal((seen.body as { stream: boolean }).stream, asked)
    }
  })
}

test('members of an answer that only Anthropic has come out unchanged, whole and streamed, and go back as history', async () => {
  const caller = { type: 'code_execution_20260120', tool_id: 'srvtoolu_1' }
  const own = {
    cache_creation: { ephemeral_5m_input_tokens: 1, ephemeral_1h_input_tokens: 2 },
    server_tool_use: { web_search_requests: 1, web_fetch_requests: 2 },
    inference_geo: 'us',
    iterations: [{ type: 'message', input_tokens: 1, output_tokens: 2 }],
    speed: 'fast',
    fallback_credit: { tokens: 3 },
  }
  const end = {
    stop_reason: 'tool_use',
    stop_sequence: null,
    stop_details: { type: 'refusal', category: null, explanation: null },
    container: { id: 'container_1', expires_at: '2026-11-22T00:00:00Z' },
  }
  const context_management = { applied_edits: [{ type: 'clear_tool_uses_20250919', cleared_tool_uses: 1 }] }
  const besides = { context_management, diagnostics: { cache_miss_reason: null } }
  const call = { type: 'tool_use', id: 'toolu_1', name: 'now', input: {}, caller, toolset_name: 'clocks' }
  const begun = { type: 'compaction', content: null, encrypted_content: null }
  const compacted = { content: 'So far.', encrypted_content: 'EqQB' }
  const content = [{ ...begun, ...compacted }, call]
  const counts = { input_tokens: 5, output_tokens: 7, ...own }
  const head = { id: 'msg_1', type: 'message', role: 'assistant', model: 'claude-sonnet-5-5', content: [] }
  const whole = { ...head, content, ...end, ...besides, usage: counts }
  const start = { ...head, stop_reason: null, container: null, usage: { input_tokens: 5, output_tokens: 1 } }
  const sent = [
    { type: 'message_start', message: start },
    { type: 'content_block_start', index: 0, content_block: begun },
    { type: 'content_block_delta', index: 0, delta: { type: 'compaction_delta', ...compacted } },
    { type: 'content_block_stop', index: 0 },
    { type: 'content_block_start', index: 1, content_block: call },
    { type: 'content_block_stop', index: 1 },
    { type: 'message_delta', delta: end, usage: counts, ...besides },
    { type: 'message_stop' },
  ].map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`)
  await using stub = await startStub((response) => {
    if (Object(stub.seen.at(-1)?.body).stream === true) streams(sent.join(''))(response)
    else answers(200, whole)(response)
  })
  await using portico = await openAnthropic(stub)
  const request = { ...hello, model: 'anthropic/claude-sonnet-5-5', tools: TOOLS }
  const events = await stream(portico, request)
  assert.deepEqual(events.filter(({ type }) => type === 'content_block_start').at(-1)?.content_block, call)
  const streamed = { ...messageOf(events), ...events.find(({ type }) => type === 'message_delta') }
  for (const got of [await ask(portico, request), streamed]) {
    assert.deepEqual(got.content, content)
    assert.deepEqual([got.stop_reason, got.stop_details, got.container], ['tool_use', end.stop_details, end.container])
    assert.deepEqual({ ...got, ...besides }, got)
    assert.deepEqual({ ...got.usage, ...own }, got.usage)
  }
  const result = { type: 'tool_result', tool_use_id: 'toolu_1', content: 'noon' }
  const messages = [...hello.messages, { role: 'assistant', content }, { role: 'user', content: [result] }]
  await ask(portico, { ...request, container: end.container.id, messages })
  const seen = stub.seen.at(-1)?.body as { container: unknown; messages: { content: unknown[] }[] }
  assert.deepEqual([seen.container, seen.messages[1]?.content], ['container_1', content])
})

test('further members of instructions between turns go to Anthropic, also without text', async () => {
  const message = { content: [{ type: 'text', text: 'x' }], stop_reason: 'end_turn' }
  await using stub = await startStub(answers(200, message))
  await using portico = await openAnthropic(stub)
  const turns = [
    { role: 'user', content: 'a' },
    { role: 'system', content: 'Hurry.', clear_at: 'next_user_message' },
    { role: 'assistant', content: 'b' },
    { role: 'user', content: 'c' },
    { role: 'system', output_config: { effort: 'low' } },
  ]
  await ask(portico, { ...hello, model: 'anthropic/claude-opus-5-5', messages: turns })
  const text = (said: string) => [{ type: 'text', text: said }]
  assert.deepEqual(Object(stub.seen.at(-1)?.body).messages, [
    { role: 'user', content: text('a') },
    { ...turns[1], content: text('Hurry.') },
    { role: 'assistant', content: text('b') },
    { role: 'user', content: text('c') },
    turns[4],
  ])
  const wordless = await post(portico, { ...hello, messages: [{ role: 'user' }] })
  assert.equal(wordless.status, 400)
})

const TOOLS = ['list', 'now'].map((name) => ({ name, input_schema: { type: 'object', properties: {} } }))

test('a call that no tool meets is refused by its member, with a preset as without', async () => {
  await using portico = await openPortico()
  await created(portico, 'p', 'messages', { model: 'portico/echo', tools: TOOLS })
  const wanted = { type: 'tool', name: 'none' }
  for (const [more, problem] of [
    [{ tool_choice: { type: 'any' } }, 'requires a call, but there are no tools'],
    [{ tool_choice: wanted }, 'there is no tool "none"'],
    [{ tool_choice: wanted, tools: TOOLS }, 'there is no tool "none"'],
    [{ tool_choice: wanted, model: '@preset/p' }, 'there is no tool "none"'],
  ] as const) {
    for (const stream of [false, true]) {
      const answer = await post(portico, { ...hello, model: 'portico/echo', stream, ...more })
      const { error } = (await answer.json()) as Json
      assert.deepEqual(
        [answer.status, error.message, error.param],
        [400, `Invalid request parameters: tool_choice: ${problem}`, 'tool_choice'],
      )
    }
  }
})
