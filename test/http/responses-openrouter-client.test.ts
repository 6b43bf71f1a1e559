import assert from 'node:assert/strict'
import test from 'node:test'
import type { OpenRouter } from '@openrouter/sdk'
import { tool } from '@openrouter/sdk/lib/tool'
import * as errors from '@openrouter/sdk/models/errors'
import { z } from 'zod'
import { openPortico, PORTICO_KEYS, type Portico } from '#test/support/portico.ts'
import { chatConfig } from '#test/support/provider-config.ts'
import { startStub } from '#test/support/provider-stub.ts'
import { openRouterClient } from '#test/support/vendor-clients.ts'
import { waitFor } from '#test/support/wait-until.ts'

const model = 'portico/echo'

/** The events of a stream, as the SDK's own schemas read them. */
async function eventsOf(portico: Portico, input: string): Promise<{ type: string; [name: string]: unknown }[]> {
  const stream = await openRouterClient(portico).responses.send({ responsesRequest: { model, input, stream: true } })
  const events: { type: string }[] = []
  for await (const event of stream as unknown as AsyncIterable<{ type: string }>) events.push(event)
  return events
}

test('responses.send answers with a body that its schema takes', async () => {
  await using portico = await openPortico()
  const response = await openRouterClient(portico).responses.send({ responsesRequest: { model, input: '/length 3' } })
  assert.ok('outputText' in response)
  assert.equal(response.outputText, 'the quick brown')
  assert.equal(response.usage?.cost, 0)
})

test('responses.send streams, and its schemas know every event but the two of the specification', async () => {
  await using portico = await openPortico()
  const events = await eventsOf(portico, '/reasoning so be it\n/length 2')
  const unknown = events.filter(({ type }) => type === 'UNKNOWN').map(({ raw }) => (raw as { type: string }).type)
  assert.deepEqual([...new Set(unknown)], ['response.content_part.delta', 'response.done'])
  const text = events.filter(({ type }) => type === 'response.output_text.delta').map(({ delta }) => delta)
  assert.equal(text.join(''), 'the quick')
  assert.equal(events.filter(({ type }) => type === 'response.completed').length, 1)
})

test('responses.send reads tool calls and failures', async () => {
  await using portico = await openPortico()
  const events = await eventsOf(portico, '/fail 500 after 1\n/length 2')
  const failed = events.find(({ type }) => type === 'response.failed') as { response?: { error?: { code: string } } }
  assert.equal(failed.response?.error?.code, 'server_error')
  const functions = [{ type: 'function' as const, name: 'look', parameters: { type: 'object' } }]
  const response = await openRouterClient(portico).responses.send({
    responsesRequest: { model, input: '/tool look {"a":1}', tools: functions },
  })
  assert.ok('output' in response)
  const [call] = response.output
  assert.ok(call?.type === 'function_call')
  assert.equal(call.arguments, '{"a":1}')
})

test('callModel runs a tool and returns the answer', async () => {
  await using portico = await openPortico()
  const weather = tool({
    name: 'weather',
    description: 'Reports the weather.',
    inputSchema: z.object({ city: z.string() }),
    outputSchema: z.object({ sky: z.string() }),
    execute: ({ city }) => Promise.resolve({ sky: `clear over ${city}` }),
  })
  const result = openRouterClient(portico).callModel({
    model,
    input: '/tool weather {"city":"Rome"}',
    tools: [weather],
  })
  assert.equal(await result.getText(), 'weather returned:\n{"sky":"clear over Rome"}')
})

test('callModel streams text', async () => {
  await using portico = await openPortico()
  let text = ''
  for await (const delta of openRouterClient(portico).callModel({ model, input: '/length 3' }).getTextStream())
    text += delta
  assert.equal(text, 'the quick brown')
})

test('errors are the typed errors of the SDK', async () => {
  await using portico = await openPortico()
  const send = (client: OpenRouter, input: string, more: object = {}): Promise<unknown> =>
    client.responses.send({ responsesRequest: { model, input, ...more } })
  const client = openRouterClient(portico)
  await assert.rejects(send(client, 'x', { temperature: 3 }), errors.BadRequestResponseError)
  await assert.rejects(send(openRouterClient(portico, 'sk-wrong'), 'x'), errors.UnauthorizedResponseError)
  await assert.rejects(send(openRouterClient(portico, PORTICO_KEYS.management), 'x'), errors.ForbiddenResponseError)
  await assert.rejects(send(client, '/fail 429'), errors.TooManyRequestsResponseError)
  await assert.rejects(send(client, '/fail 504'), errors.RequestTimeoutResponseError)
  await assert.rejects(send(client, '/fail 500'), errors.BadGatewayResponseError)
  await assert.rejects(send(client, '/fail 503'), errors.ServiceUnavailableResponseError)
})

test('an answer follows a schema', async () => {
  await using portico = await openPortico()
  const schema = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] }
  const text = { format: { type: 'json_schema' as const, name: 'place', schema, strict: true } }
  const response = await openRouterClient(portico).responses.send({
    responsesRequest: { model, input: '{"city":"Rome"}', text },
  })
  assert.ok('outputText' in response)
  assert.deepEqual(JSON.parse(String(response.outputText)), { city: 'Rome' })
})

test('leaving a stream, or aborting a request, ends the generation', async () => {
  await using stub = await startStub((response) => {
    if (stub.seen.length > 1) return
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.write('data: {"choices":[{"index":0,"delta":{"content":"Hi"}}]}\n\n')
  })
  await using portico = await openPortico({ PORTICO_CONFIG: chatConfig(stub) })
  const request = { model: 'openai/gpt-5.5', input: 'Hi' }
  const stream = await openRouterClient(portico).responses.send({ responsesRequest: { ...request, stream: true } })
  for await (const _ of stream as unknown as AsyncIterable<unknown>) break
  await stub.hungUp
  const controller = new AbortController()
  const answer = openRouterClient(portico).responses.send({ responsesRequest: request }, { signal: controller.signal })
  await waitFor('the second request at the provider', () => stub.seen.length === 2)
  controller.abort()
  await assert.rejects(answer, errors.RequestAbortedError)
  await waitFor('the end of the second request', () => stub.hangUps === 2)
})
