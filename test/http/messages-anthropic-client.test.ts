import assert from 'node:assert/strict'
import test from 'node:test'
import type Anthropic from '@anthropic-ai/sdk'
import { APIError, APIUserAbortError, AuthenticationError, RateLimitError } from '@anthropic-ai/sdk'
import { openAnthropic } from '#test/support/messages.ts'
import { openPortico } from '#test/support/portico.ts'
import { answers, fixture, startStub, streams } from '#test/support/provider-stub.ts'
import { anthropicClient } from '#test/support/vendor-clients.ts'

const echo = { model: 'portico/echo', max_tokens: 1_000 }
const claude = { model: 'anthropic/claude-sonnet-5-5', max_tokens: 1_000 }
const input_schema = { type: 'object' as const, properties: { city: { type: 'string' } }, required: ['city'] }
const tools = [{ name: 'weather', input_schema }]

function say(content: string): { messages: Anthropic.MessageParam[] } {
  return { messages: [{ role: 'user', content }] }
}

test('messages.create answers with the text, and names the request', async () => {
  await using portico = await openPortico()
  const { data, request_id, response } = await anthropicClient(portico)
    .messages.create({ ...echo, ...say('/length 3') })
    .withResponse()
  assert.deepEqual(data.content, [{ type: 'text', text: 'the quick brown' }])
  assert.equal(data.stop_reason, 'end_turn')
  assert.equal(data.usage.output_tokens, 3)
  assert.equal(request_id, response.headers.get('x-generation-id'))
})

test('a stream yields its events, and the helper follows it to the final message', async () => {
  await using portico = await openPortico()
  let text = ''
  for await (const event of await anthropicClient(portico).messages.create({
    ...echo,
    ...say('/length 3'),
    stream: true,
  })) {
    if (event.type === 'content_block_delta' && event.delta.type === 'text_delta') text += event.delta.text
  }
  assert.equal(text, 'the quick brown')
  const stream = anthropicClient(portico).messages.stream({ ...echo, ...say('/reasoning so be it\n/length 3') })
  let received = ''
  stream.on('text', (delta, snapshot) => {
    received += delta
    assert.equal(snapshot, received)
  })
  const message = await stream.finalMessage()
  assert.deepEqual(
    message.content.map(({ type }) => type),
    ['thinking', 'text'],
  )
  assert.equal(received, 'the quick brown')
})

test('a tool is called, its result goes back with the message of the model, and the answer comes', async () => {
  await using portico = await openPortico()
  const client = anthropicClient(portico)
  const { messages } = say('/tool weather {"city":"Rome"}')
  const first = await client.messages.stream({ ...echo, messages, tools }).finalMessage()
  assert.equal(first.stop_reason, 'tool_use')
  const call = first.content.find((block) => block.type === 'tool_use') ?? assert.fail()
  assert.deepEqual(call.input, { city: 'Rome' })
  const result = {
    type: 'tool_result' as const,
    tool_use_id: call.id,
    content: [{ type: 'text' as const, text: 'Sun' }],
  }
  const history: Anthropic.MessageParam[] = [
    ...messages,
    { role: 'assistant', content: first.content },
    { role: 'user', content: [result, { type: 'text', text: 'And?' }] },
  ]
  const second = await client.messages.create({ ...echo, messages: history, tools })
  assert.equal(second.stop_reason, 'end_turn')
})

test('thoughts, hidden thoughts, calls and citations go to Anthropic as they came', async () => {
  for (const name of ['anthropic-tools', 'anthropic-sources']) {
    await using stub = await startStub(streams(fixture(`${name}.sse`)))
    await using portico = await openAnthropic(stub)
    const client = anthropicClient(portico)
    const list = ['list', 'now'].map((name) => ({ name, input_schema: { type: 'object' as const } }))
    const search = { type: 'web_search_20250305' as const, name: 'web_search' as const }
    const request = { ...claude, max_tokens: 30_000, tools: [...list, search] }
    const { messages } = say('Go on')
    const first = await client.messages.stream({ ...request, messages }).finalMessage()
    const given = JSON.parse(fixture(`${name}.json`))
    assert.deepEqual(first.content, given.content)
    const results = first.content.flatMap((block) =>
      block.type === 'tool_use' ? [{ type: 'tool_result' as const, tool_use_id: block.id, content: 'x' }] : [],
    )
    const reply = [...results, { type: 'text' as const, text: 'Thanks' }]
    const history: Anthropic.MessageParam[] = [...messages, { role: 'assistant', content: first.content }]
    await client.messages
      .stream({ ...request, messages: [...history, { role: 'user', content: reply }] })
      .finalMessage()
    const [asked, sent] = stub.seen.map(({ body }) => body as { messages: { content: object[] }[]; tools: object[] })
    assert.deepEqual(sent?.messages[1]?.content, given.content, name)
    assert.deepEqual(asked?.tools.at(-1), search)
  }
})

test('structured output and betas reach Anthropic', async () => {
  const message = { content: [{ type: 'text', text: '{"a":1}' }], stop_reason: 'end_turn', usage: { input_tokens: 1 } }
  await using stub = await startStub(answers(200, message))
  await using portico = await openAnthropic(stub)
  const schema = {
    type: 'object',
    properties: { a: { type: 'integer' } },
    required: ['a'],
    additionalProperties: false,
  }
  const answer = await anthropicClient(portico).beta.messages.create({
    ...claude,
    ...say('JSON'),
    betas: ['context-management-2025-06-27'],
    context_management: { edits: [{ type: 'clear_tool_uses_20250919' }] },
    output_config: { effort: 'low', format: { type: 'json_schema', schema } },
  })
  assert.equal(answer.content[0]?.type === 'text' && answer.content[0].text, '{"a":1}')
  const [seen = assert.fail()] = stub.seen
  assert.equal(seen.headers['anthropic-beta'], 'context-management-2025-06-27')
  const { output_config, context_management, thinking } = seen.body as Record<string, unknown>
  assert.deepEqual(output_config, { effort: 'low', format: { type: 'json_schema', schema } })
  assert.deepEqual(context_management, { edits: [{ type: 'clear_tool_uses_20250919' }] })
  assert.equal(thinking, undefined)
})

test('errors are of the client’s own classes, before the first byte and in the middle', async () => {
  await using portico = await openPortico()
  const create = (client: Anthropic, content: string) => client.messages.create({ ...echo, ...say(content) })
  await assert.rejects(create(anthropicClient(portico, 'sk-wrong'), 'x'), AuthenticationError)
  await assert.rejects(create(anthropicClient(portico), '/fail 429'), RateLimitError)
  await assert.rejects(anthropicClient(portico).messages.create({ ...claude, ...say('x') }), (error) => {
    assert.ok(error instanceof APIError)
    assert.equal(error.status, 400)
    assert.equal((error.error as { error: { type: string } }).error.type, 'invalid_request_error')
    return true
  })
  const [start = ''] = fixture('anthropic-tools.sse').split('event: content_block_stop')
  const broken = `event: error\ndata: {"type":"error","error":{"type":"overloaded_error","message":"Full"}}\n\n`
  await using stub = await startStub(streams(start + broken))
  await using upstream = await openAnthropic(stub)
  const stream = anthropicClient(upstream).messages.stream({ ...claude, ...say('x') })
  await assert.rejects(stream.finalMessage(), (error) => {
    assert.ok(error instanceof APIError)
    assert.match(error.message, /anthropic is unavailable: Full/)
    return true
  })
})

test('a client that loses interest ends the request to the provider', async () => {
  const [start = ''] = fixture('anthropic-tools.sse').split('event: content_block_stop')
  await using stub = await startStub((response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' }).write(start)
  })
  await using portico = await openAnthropic(stub)
  const stream = anthropicClient(portico).messages.stream({ ...claude, ...say('x') })
  stream.once('streamEvent', () => stream.abort())
  await assert.rejects(stream.finalMessage(), APIUserAbortError)
  await stub.hungUp
})

test('messages.countTokens counts', async () => {
  await using portico = await openPortico()
  const { input_tokens } = await anthropicClient(portico).messages.countTokens({
    model: 'portico/echo',
    ...say('x'.repeat(300)),
  })
  assert.ok(input_tokens >= 100 && input_tokens < 120)
})
