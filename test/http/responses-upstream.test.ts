import assert from 'node:assert/strict'
import { once } from 'node:events'
import { request as httpRequest, type IncomingMessage, type ServerResponse } from 'node:http'
import test from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { PORTICO_KEYS, type Portico } from '#test/support/portico.ts'
import { answers, startStub, streams } from '#test/support/provider-stub.ts'
import { ask, chatEnd, chunk, eventsOf, type Json, openWith, post, stream } from '#test/support/responses.ts'

const hello = { model: 'openai/gpt-x', input: 'Hello' }

/** Begins an answer, and leaves the rest to the test. */
function begins(response: ServerResponse): void {
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  response.write(chunk({ role: 'assistant', content: 'one ' }))
}

/** Asks for a stream, and hands it over unread. */
async function open(portico: Portico, headers: Record<string, string> = {}): Promise<IncomingMessage> {
  const outgoing = httpRequest(`${portico.url}/api/v1/responses`, {
    method: 'POST',
    headers: { authorization: `Bearer ${PORTICO_KEYS.api}`, 'content-type': 'application/json', ...headers },
  })
  outgoing.end(JSON.stringify({ ...hello, stream: true }))
  const [answer] = (await once(outgoing, 'response')) as [IncomingMessage]
  return answer
}

test('a history with tools and pictures reaches the provider, and its answer the client', async () => {
  const call = { index: 0, id: 'call_2', type: 'function', function: { name: 'look', arguments: '{"a":1}' } }
  const text = chunk({ content: 'See: ' }) + chunk({ tool_calls: [call] }) + chatEnd('tool_calls')
  await using stub = await startStub(streams(text))
  await using portico = await openWith(stub)
  const response = await ask(portico, {
    model: 'openai/gpt-x',
    instructions: 'Be brief.',
    input: [
      {
        role: 'user',
        content: [
          { type: 'input_text', text: 'What is this?' },
          { type: 'input_image', image_url: 'https://example.com/a.png', detail: 'low' },
          { type: 'input_image', image_url: 'data:image/png;base64,AAEC' },
        ],
      },
      {
        type: 'message',
        id: 'm',
        status: 'completed',
        role: 'assistant',
        content: [{ type: 'output_text', text: 'Hm.' }],
      },
      { type: 'function_call', call_id: 'call_1', name: 'look', arguments: '{}' },
      { type: 'function_call_output', call_id: 'call_1', output: 'a cat' },
    ],
    tools: [{ type: 'function', name: 'look', parameters: { type: 'object' }, strict: true }],
    tool_choice: 'required',
    temperature: 0.5,
    max_output_tokens: 9,
    text: { format: { type: 'json_schema', name: 'n', schema: { type: 'object' }, strict: true }, verbosity: 'low' },
    reasoning: { effort: 'low' },
  })
  assert.deepEqual(stub.seen[0]?.body, {
    model: 'gpt-x',
    messages: [
      { role: 'system', content: 'Be brief.' },
      {
        role: 'user',
        content: [
          { type: 'text', text: 'What is this?' },
          { type: 'image_url', image_url: { url: 'https://example.com/a.png', detail: 'low' } },
          { type: 'image_url', image_url: { url: 'data:image/png;base64,AAEC' } },
        ],
      },
      {
        role: 'assistant',
        content: 'Hm.',
        tool_calls: [{ id: 'call_1', type: 'function', function: { name: 'look', arguments: '{}' } }],
      },
      { role: 'tool', tool_call_id: 'call_1', content: 'a cat' },
    ],
    tools: [{ type: 'function', function: { name: 'look', parameters: { type: 'object' }, strict: true } }],
    tool_choice: 'required',
    temperature: 0.5,
    max_completion_tokens: 9,
    response_format: { type: 'json_schema', json_schema: { name: 'n', schema: { type: 'object' }, strict: true } },
    reasoning_effort: 'low',
    verbosity: 'low',
    stream: true,
    stream_options: { include_usage: true },
  })
  const tail = response.id.slice(5)
  assert.deepEqual(response.output, [
    {
      type: 'message',
      id: `msg_${tail}_0`,
      status: 'completed',
      role: 'assistant',
      content: [{ type: 'output_text', text: 'See: ', annotations: [], logprobs: [] }],
    },
    {
      type: 'function_call',
      id: `fc_${tail}_1`,
      call_id: 'call_2',
      name: 'look',
      arguments: '{"a":1}',
      status: 'completed',
    },
  ])
  assert.equal(response.model, 'openai/gpt-x')
})

test("a provider's refusal becomes the client's status, with its message and when to come back", async () => {
  const cases: [number, number, string, string][] = [
    [400, 400, 'openai refused the request: Told so', 'invalid_request'],
    [401, 502, 'openai refused the request: Told so', 'provider_unavailable'],
    [402, 502, 'openai refused the request: Told so', 'provider_unavailable'],
    [403, 403, 'openai refused the request: Told so', 'permission_denied'],
    [404, 404, 'openai refused the request: Told so', 'not_found'],
    [413, 413, 'openai refused the request: Told so', 'payload_too_large'],
    [422, 422, 'openai refused the request: Told so', 'unprocessable'],
    [429, 429, 'openai asks to slow down: Told so', 'rate_limit_exceeded'],
    [500, 502, 'openai is unavailable: Told so', 'provider_unavailable'],
    [503, 503, 'openai is unavailable: Told so', 'provider_overloaded'],
    [504, 408, 'openai did not answer in time', 'timeout'],
    [529, 503, 'openai is unavailable: Told so', 'provider_overloaded'],
  ]
  let status = 0
  await using stub = await startStub((response) =>
    answers(status, { error: { message: 'Told so' } }, { 'retry-after': '7' })(response),
  )
  await using portico = await openWith(stub)
  for (const [theirs, ours, message, error_type] of cases) {
    status = theirs
    for (const streamed of [true, false]) {
      const answer = await post(portico, { ...hello, stream: streamed })
      const metadata = { provider_name: 'openai', error_type }
      assert.deepEqual(await answer.json(), { error: { code: ours, message, metadata } })
      assert.equal(answer.status, ours)
      assert.equal(answer.headers.get('retry-after'), '7', String(theirs))
    }
  }
})

test('a client that hangs up in the middle aborts the request to the provider', async () => {
  await using stub = await startStub(begins)
  await using portico = await openWith(stub)
  const answer = await open(portico)
  await once(answer, 'data')
  answer.destroy()
  await stub.hungUp
  for (let i = 0; portico.listener.lifecycle.openStreams > 0 && i < 100; i++) await delay(5)
  assert.equal(portico.listener.lifecycle.openStreams, 0)
})

test('a client that hangs up while it waits for JSON aborts the request to the provider', async () => {
  const begun = Promise.withResolvers<void>()
  await using stub = await startStub((response) => {
    begins(response)
    begun.resolve()
  })
  await using portico = await openWith(stub)
  const controller = new AbortController()
  const answer = post(portico, hello, {}, controller.signal)
  await begun.promise
  controller.abort()
  await assert.rejects(answer, { name: 'AbortError' })
  await stub.hungUp
})

test('a client that does not read slows the provider down, and misses nothing', async () => {
  const word = 'x'.repeat(1_000)
  const words = 20_000
  let sent = 0
  await using stub = await startStub(async (response) => {
    begins(response)
    for (sent = 1; sent < words; sent++) {
      if (!response.write(chunk({ content: word }))) await once(response, 'drain')
    }
    response.end(chatEnd())
  })
  await using portico = await openWith(stub)
  const answer = await open(portico, { 'x-stream-dialect': 'specification' })
  let seen = 0
  for (let quiet = 0; quiet < 20; quiet = sent === seen ? quiet + 1 : 0) {
    seen = sent
    await delay(20)
  }
  assert.ok(seen < words - 1, `the provider has sent ${seen} of ${words} events to nobody`)
  answer.setEncoding('utf8')
  let text = ''
  for await (const piece of answer) text += piece
  const events = eventsOf(text)
  assert.equal(events.filter(({ type }) => type === 'response.content_part.delta').length, words)
  assert.equal(events.at(-1)?.response.status, 'completed')
})

test('a provider that cuts its answer off fails the response, and the stream still ends as it should', async () => {
  await using stub = await startStub((response) => {
    begins(response)
    setTimeout(() => response.destroy(), 20)
  })
  await using portico = await openWith(stub)
  const events = await stream(portico, hello)
  assert.deepEqual(
    events.slice(-3).map(({ type, response, item }) => [type, (response ?? item).status]),
    [
      ['response.output_item.done', 'incomplete'],
      ['response.failed', 'failed'],
      ['response.done', 'failed'],
    ],
  )
  const { error, error_type, output_text } = (events.at(-1) as Json).response
  assert.equal(error.code, 'server_error')
  assert.match(error.message, /^openai is unavailable: /)
  assert.equal(error_type, 'provider_unavailable')
  assert.equal(output_text, 'one ')
})

test('while a provider is silent the client gets comments', async () => {
  await using stub = await startStub(async (response) => {
    begins(response)
    await delay(200)
    response.end(chatEnd())
  })
  await using portico = await openWith(stub, { PORTICO_HEARTBEAT_MS: '20' })
  const text = await (await post(portico, { ...hello, stream: true })).text()
  assert.match(text, /\n\n: OPENROUTER PROCESSING\n\n/)
  const events = eventsOf(text.replaceAll(': OPENROUTER PROCESSING\n\n', ''))
  assert.equal(events.at(-1)?.response.status, 'completed')
})

test('a server that stops lets an answer go on for a while, then ends its stream as failed', async () => {
  await using stub = await startStub(begins)
  const portico = await openWith(stub, { PORTICO_DRAIN_MS: '400' })
  const answer = await post(portico, { ...hello, stream: true })
  const reader = answer.body?.pipeThrough(new TextDecoderStream()).getReader()
  let text = (await reader?.read())?.value ?? ''
  const stopped = portico[Symbol.asyncDispose]()
  for (let next = await reader?.read(); next?.done === false; next = await reader?.read()) text += next.value
  await stopped
  const last = eventsOf(text).at(-1) as Json
  assert.equal(last.type, 'response.done')
  assert.deepEqual(last.response.error, { code: 'server_error', message: 'The server is stopping' })
  assert.equal(last.response.status, 'failed')
})
