import assert from 'node:assert/strict'
import test from 'node:test'
import OpenAI from 'openai'
import { zodResponseFormat } from 'openai/helpers/zod'
import { z } from 'zod'
import { openPortico, PORTICO_KEYS } from '#test/support/portico.ts'
import { chatConfig } from '#test/support/provider-config.ts'
import { answers, startStub, streams } from '#test/support/provider-stub.ts'
import { chatEnd, chunk } from '#test/support/responses.ts'
import { openAiClient } from '#test/support/vendor-clients.ts'
import { waitFor } from '#test/support/wait-until.ts'

const model = 'portico/echo'
const parameters = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] }
const tools: OpenAI.ChatCompletionTool[] = [{ type: 'function', function: { name: 'weather', parameters } }]
const ask = (content: string): OpenAI.ChatCompletionMessageParam[] => [{ role: 'user', content }]

test('create answers with the text', async () => {
  await using portico = await openPortico()
  const chat = openAiClient(portico).chat.completions
  const { data, response } = await chat.create({ model, messages: ask('/length 3') }).withResponse()
  assert.equal(data.choices[0]?.message.content, 'the quick brown')
  assert.equal(data.choices[0]?.finish_reason, 'stop')
  assert.equal(data.usage?.total_tokens, 5)
  assert.equal(response.headers.get('x-generation-id'), data.id)
})

test('create({ stream: true }) yields words, the reason, and usage once', async () => {
  await using portico = await openPortico()
  const stream = await openAiClient(portico).chat.completions.create({
    model,
    messages: ask('/length 3'),
    stream: true,
    stream_options: { include_usage: true },
  })
  let text = ''
  const totals: (number | undefined)[] = []
  for await (const { choices, usage } of stream) {
    text += choices[0]?.delta.content ?? ''
    if (usage) totals.push(usage.total_tokens)
  }
  assert.deepEqual([text, totals], ['the quick brown', [5]])
})

test('stream() follows the answer to the final completion', async () => {
  await using portico = await openPortico()
  const stream = openAiClient(portico).chat.completions.stream({
    model,
    messages: ask('/reasoning so be it\n/length 3'),
  })
  let text = ''
  stream.on('content', (delta, snapshot) => {
    text += delta
    assert.equal(snapshot, text)
  })
  const final = await stream.finalChatCompletion()
  assert.equal(final.choices[0]?.message.content, 'the quick brown')
  assert.equal((await stream.totalUsage()).total_tokens, 12)
})

test('a tool is called, its result goes back with the message of the model, and the answer comes', async () => {
  await using portico = await openPortico()
  const chat = openAiClient(portico).chat.completions
  const messages = ask('/tool weather {"city":"Rome"}')
  for (const streamed of [false, true]) {
    const first = streamed
      ? await chat.stream({ model, messages, tools }).finalChatCompletion()
      : await chat.create({ model, messages, tools })
    const [choice] = first.choices
    assert.ok(choice)
    assert.equal(choice.finish_reason, 'tool_calls')
    const [call] = choice.message.tool_calls ?? []
    assert.ok(call?.type === 'function')
    assert.deepEqual(JSON.parse(call.function.arguments), { city: 'Rome' })
    const second = await chat.create({
      model,
      messages: [...messages, choice.message, { role: 'tool', tool_call_id: call.id, content: 'Sunny' }],
      tools,
    })
    assert.equal(second.choices[0]?.message.content, 'weather returned:\nSunny')
  }
})

test('runTools runs a tool to the last answer', async () => {
  await using portico = await openPortico()
  const runner = openAiClient(portico).chat.completions.runTools({
    model,
    messages: ask('/tool weather {"city":"Rome"}'),
    tools: [
      {
        type: 'function',
        function: {
          name: 'weather',
          description: 'Reports the weather.',
          parse: (text: string): { city: string } => JSON.parse(text),
          function: ({ city }: { city: string }) => `clear over ${city}`,
          parameters,
        },
      },
    ],
  })
  assert.equal(await runner.finalContent(), 'weather returned:\nclear over Rome')
})

test('parse reads an answer in the form of a schema, whole and streamed', async () => {
  await using portico = await openPortico()
  const chat = openAiClient(portico).chat.completions
  const request = {
    model,
    messages: ask('{"city":"Rome"}'),
    response_format: zodResponseFormat(z.object({ city: z.string() }), 'place'),
  }
  assert.deepEqual((await chat.parse(request)).choices[0]?.message.parsed, { city: 'Rome' })
  const streamed = await chat.stream(request).finalChatCompletion()
  assert.deepEqual(streamed.choices[0]?.message.parsed, { city: 'Rome' })
})

test('errors before the first byte are the typed errors of the SDK, with status and message', async () => {
  await using portico = await openPortico()
  const create = (body: object, client = openAiClient(portico)): Promise<unknown> =>
    client.chat.completions.create({
      model,
      messages: ask('x'),
      ...body,
    } as OpenAI.ChatCompletionCreateParamsNonStreaming)
  await assert.rejects(create({ n: 2 }), (error) => {
    assert.ok(error instanceof OpenAI.BadRequestError)
    assert.match(error.message, /Invalid request parameters: n: only one choice is generated/)
    return true
  })
  await assert.rejects(create({ messages: ask('/fail 429') }), OpenAI.RateLimitError)
  await assert.rejects(create({ messages: ask('/fail 500'), stream: true }), OpenAI.InternalServerError)
  await assert.rejects(create({ preset: 'none' }), OpenAI.NotFoundError)
  await assert.rejects(create({}, openAiClient(portico, 'sk-wrong')), OpenAI.AuthenticationError)
  await assert.rejects(create({}, openAiClient(portico, PORTICO_KEYS.management)), OpenAI.PermissionDeniedError)
})

test('a failure in the middle is thrown, by create and by stream()', async () => {
  await using portico = await openPortico()
  const chat = openAiClient(portico).chat.completions
  const messages = ask('/fail 500 after 2\n/length 5')
  let text = ''
  const read = async (): Promise<void> => {
    for await (const { choices } of await chat.create({ model, messages, stream: true })) {
      text += choices[0]?.delta.content ?? ''
    }
  }
  const failed = (error: unknown): true => {
    assert.ok(error instanceof OpenAI.APIError)
    assert.match(error.message, /portico is unavailable: The prompt requested status 500/)
    return true
  }
  await assert.rejects(read, failed)
  assert.equal(text, 'the quick ')
  await assert.rejects(chat.stream({ model, messages }).finalChatCompletion(), failed)
})

test('abort() of a stream takes effect', async () => {
  await using portico = await openPortico()
  const stream = await openAiClient(portico).chat.completions.create({
    model,
    messages: ask('/slow 20\n/length 1000'),
    stream: true,
  })
  for await (const { choices } of stream) if (choices[0]?.delta.content) stream.controller.abort()
  await waitFor('the stream to end', () => portico.listener.lifecycle.openStreams === 0)
})

test('a custom tool is called with any text, whole and streamed, and its result goes back', async () => {
  const call = { index: 0, id: 'c1', type: 'custom', custom: { name: 'edit', input: 'any "text"' } }
  const { index: _, ...called } = call
  for (const streamed of [false, true]) {
    const whole = answers(200, { choices: [{ message: { tool_calls: [called] }, finish_reason: 'tool_calls' }] })
    await using stub = await startStub(
      streamed ? streams(chunk({ tool_calls: [call] }) + chatEnd('tool_calls')) : whole,
    )
    await using portico = await openPortico({ PORTICO_CONFIG: chatConfig(stub) })
    const chat = openAiClient(portico).chat.completions
    const grammar = { syntax: 'lark' as const, definition: 'start: /.+/' }
    const tool = { type: 'custom' as const, custom: { name: 'edit', format: { type: 'grammar' as const, grammar } } }
    const request = { model: 'openai/gpt-5.5', messages: ask('Edit it.'), tools: [tool] }
    const pieces: OpenAI.ChatCompletionChunk.Choice.Delta[] = []
    if (streamed) {
      for await (const { choices } of await chat.create({ ...request, stream: true })) {
        if (choices[0]) pieces.push(choices[0].delta)
      }
      // The types of the SDK have no custom calls in chunks.
      const custom = pieces.flatMap(({ tool_calls: calls = [] }) => calls as unknown as Partial<typeof call>[])
      assert.deepEqual([custom[0]?.id, custom[0]?.type], ['c1', 'custom'])
      assert.equal(custom.map((piece) => piece.custom?.input ?? '').join(''), 'any "text"')
      continue
    }
    const { message } = (await chat.create(request)).choices[0] ?? assert.fail()
    assert.deepEqual(message.tool_calls, [called])
    const result = { role: 'tool' as const, tool_call_id: 'c1', content: 'done' }
    await chat.create({ ...request, messages: [...request.messages, message, result] })
    const [first, second] = stub.seen.map(({ body }) => body as { messages: object[]; tools: object[] })
    assert.deepEqual(first?.tools, [tool])
    assert.deepEqual(second?.messages.slice(1), [
      { role: 'assistant', content: null, tool_calls: [called] },
      { role: 'tool', tool_call_id: 'c1', content: 'done' },
    ])
  }
})

test('sources and log probabilities of a provider come as the SDK knows them', async () => {
  const citation = { url: 'https://a', title: 'A', start_index: 0, end_index: 2 }
  const message = { content: 'Hi', annotations: [{ type: 'url_citation', url_citation: citation }] }
  const logprobs = { content: [{ token: 'Hi', logprob: -0.5, bytes: [72, 105], top_logprobs: [] }], refusal: null }
  await using stub = await startStub(answers(200, { choices: [{ message, logprobs, finish_reason: 'stop' }] }))
  await using portico = await openPortico({ PORTICO_CONFIG: chatConfig(stub) })
  const request = { model: 'openai/gpt-5.5', messages: ask('Who?'), logprobs: true }
  const [choice] = (await openAiClient(portico).chat.completions.create(request)).choices
  assert.deepEqual(choice?.message.annotations, message.annotations)
  assert.deepEqual(choice?.logprobs, logprobs)
})
