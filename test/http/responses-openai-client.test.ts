import assert from 'node:assert/strict'
import test from 'node:test'
import OpenAI from 'openai'
import { openPortico, PORTICO_KEYS } from '#test/support/portico.ts'
import { openAiClient } from '#test/support/vendor-clients.ts'

const model = 'portico/echo'
const parameters = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] }
const tools = [{ type: 'function' as const, name: 'weather', parameters, strict: false }]

test('responses.create answers with the text', async () => {
  await using portico = await openPortico()
  const { data, response } = await openAiClient(portico).responses.create({ model, input: '/length 3' }).withResponse()
  assert.equal(data.output_text, 'the quick brown')
  assert.equal(data.status, 'completed')
  assert.equal(data.usage?.total_tokens, 5)
  assert.equal(response.headers.get('x-generation-id'), data.id.replace('resp_', 'gen-'))
})

test('responses.create({ stream: true }) yields each event once, in order', async () => {
  await using portico = await openPortico()
  const stream = await openAiClient(portico).responses.create({ model, input: '/length 3', stream: true })
  let text = ''
  const numbers: number[] = []
  for await (const event of stream) {
    numbers.push(event.sequence_number)
    if (event.type === 'response.output_text.delta') text += event.delta
  }
  assert.equal(text, 'the quick brown')
  assert.deepEqual(numbers, [...numbers.keys()])
})

test('responses.stream() follows thought and text to the final response', async () => {
  await using portico = await openPortico()
  const stream = openAiClient(portico).responses.stream({ model, input: '/reasoning so be it\n/length 3' })
  let text = ''
  stream.on('response.output_text.delta', ({ delta, snapshot }) => {
    text += delta
    assert.equal(snapshot, text)
  })
  const final = await stream.finalResponse()
  assert.equal(final.output_text, 'the quick brown')
  assert.deepEqual(
    final.output.map(({ type }) => type),
    ['reasoning', 'message'],
  )
})

test('a tool is called, its output goes back with the items of the model, and the answer comes', async () => {
  await using portico = await openPortico()
  const client = openAiClient(portico)
  const input: OpenAI.Responses.ResponseInput = [{ role: 'user', content: '/tool weather {"city":"Rome"}' }]
  const first = await client.responses.stream({ model, input, tools }).finalResponse()
  const call = first.output[0]
  assert.ok(call?.type === 'function_call')
  assert.deepEqual(JSON.parse(call.arguments), { city: 'Rome' })
  // biome-ignore lint/suspicious/noExplicitAny: the SDK's output types carry members that its input types lack.
  input.push(...(first.output as any[]), { type: 'function_call_output', call_id: call.call_id, output: 'Sunny' })
  const second = await client.responses.create({ model, input, tools })
  assert.equal(second.output_text, 'weather returned:\nSunny')
})

test('responses.parse reads an answer in the form of a schema', async () => {
  await using portico = await openPortico()
  const format = { type: 'json_schema' as const, name: 'place', schema: parameters, strict: true }
  const response = await openAiClient(portico).responses.parse({ model, input: '{"city":"Rome"}', text: { format } })
  assert.deepEqual(response.output_parsed, { city: 'Rome' })
})

test('errors are the typed errors of the SDK, with status, message and code', async () => {
  await using portico = await openPortico()
  const client = openAiClient(portico)
  const create = (body: object): Promise<unknown> =>
    client.responses.create({ model, input: 'x', ...body } as OpenAI.Responses.ResponseCreateParamsNonStreaming)
  await assert.rejects(create({ store: true }), (error) => {
    assert.ok(error instanceof OpenAI.BadRequestError)
    assert.match(error.message, /Invalid request parameters: store: /)
    return true
  })
  await assert.rejects(create({ input: '/fail 429' }), OpenAI.RateLimitError)
  await assert.rejects(create({ input: '/fail 500', stream: true }), OpenAI.InternalServerError)
  await assert.rejects(
    openAiClient(portico, 'sk-wrong').responses.create({ model, input: 'x' }),
    OpenAI.AuthenticationError,
  )
  await assert.rejects(
    openAiClient(portico, PORTICO_KEYS.management).responses.create({ model, input: 'x' }),
    OpenAI.PermissionDeniedError,
  )
})

test('a failure in the middle is a failed response, for create and for stream()', async () => {
  await using portico = await openPortico()
  const client = openAiClient(portico)
  const input = '/fail 500 after 2\n/length 5'
  const failed: unknown[] = []
  for await (const event of await client.responses.create({ model, input, stream: true })) {
    if (event.type === 'response.failed') failed.push(event.response.error)
  }
  const message = 'Provider error: portico is unavailable: The prompt requested status 500'
  const error = { code: 'server_error', message }
  assert.deepEqual(failed, [error])
  const final = await client.responses.stream({ model, input }).finalResponse()
  assert.equal(final.status, 'failed')
  assert.deepEqual(final.error, error)
  assert.equal(final.output_text, 'the quick ')
})

test('abort() of a stream takes effect', async () => {
  await using portico = await openPortico()
  const stream = await openAiClient(portico).responses.create({ model, input: '/slow 20\n/length 1000', stream: true })
  for await (const event of stream) if (event.type === 'response.output_text.delta') stream.controller.abort()
  for (let i = 0; portico.listener.lifecycle.openStreams > 0 && i < 200; i++) await new Promise(setImmediate)
  assert.equal(portico.listener.lifecycle.openStreams, 0)
})
