import assert from 'node:assert/strict'
import test from 'node:test'
import type { ChatAssistantMessage, ChatMessages, ChatRequest, ChatStreamChunk } from '@openrouter/sdk/models'
import * as errors from '@openrouter/sdk/models/errors'
import { openPortico, PORTICO_KEYS, type Portico } from '#test/support/portico.ts'
import { chatConfig } from '#test/support/provider-config.ts'
import { startStub } from '#test/support/provider-stub.ts'
import { openRouterClient } from '#test/support/vendor-clients.ts'
import { waitFor } from '#test/support/wait-until.ts'

const model = 'portico/echo'
const look = { type: 'function' as const, function: { name: 'look', parameters: { type: 'object' } } }

const ask = (content: string, more: Partial<ChatRequest> = {}) => ({
  chatRequest: { model, messages: [{ role: 'user' as const, content }], ...more },
})

async function chunksOf(
  portico: Portico,
  content: string,
  more: Partial<ChatRequest> = {},
): Promise<ChatStreamChunk[]> {
  const { chatRequest } = ask(content, more)
  const stream = await openRouterClient(portico).chat.send({ chatRequest: { ...chatRequest, stream: true } })
  const chunks: ChatStreamChunk[] = []
  for await (const chunk of stream as AsyncIterable<ChatStreamChunk>) chunks.push(chunk)
  return chunks
}

async function messageOf(portico: Portico, request: ReturnType<typeof ask>): Promise<ChatAssistantMessage> {
  const result = await openRouterClient(portico).chat.send(request)
  assert.ok('choices' in result)
  return result.choices[0]?.message ?? assert.fail()
}

test('chat.send answers with a body that its schema takes', async () => {
  await using portico = await openPortico()
  const result = await openRouterClient(portico).chat.send(ask('/reasoning so be it\n/length 3'))
  assert.ok('choices' in result)
  const [choice] = result.choices
  assert.equal(choice?.message.content, 'the quick brown')
  assert.equal(choice?.message.reasoning, 'so be it')
  assert.equal(choice?.finishReason, 'stop')
  assert.equal(result.usage?.cost, 0)
  assert.equal(result.systemFingerprint, null)
})

test('chat.send streams, and its schemas take every chunk', async () => {
  await using portico = await openPortico()
  const chunks = await chunksOf(portico, '/reasoning so be it\n/length 2')
  const deltas = chunks.flatMap(({ choices }) => choices.map(({ delta }) => delta))
  assert.equal(deltas.map(({ content }) => content ?? '').join(''), 'the quick')
  assert.equal(deltas.map(({ reasoning }) => reasoning ?? '').join(''), 'so be it')
  assert.equal(chunks.at(-2)?.choices[0]?.finishReason, 'stop')
  assert.deepEqual([chunks.at(-1)?.choices, chunks.at(-1)?.usage?.totalTokens], [[], 11])
})

test('a tool is called, and the message of the model goes back with the result', async () => {
  await using portico = await openPortico()
  const asked = ask('/reasoning hm\n/tool look {"a":1}', { tools: [look] })
  const said = await messageOf(portico, asked)
  const [call] = said.toolCalls ?? []
  assert.equal(call?.function.arguments, '{"a":1}')
  const result: ChatMessages = { role: 'tool', toolCallId: call?.id ?? '', content: 'done' }
  const messages = [...asked.chatRequest.messages, said, result] as ChatMessages[]
  const answer = await messageOf(portico, { chatRequest: { ...asked.chatRequest, messages } } as never)
  assert.equal(answer.content, 'look returned:\ndone')
  const chunks = await chunksOf(portico, '/tool look {"a":1}', { tools: [look] })
  const calls = chunks.flatMap(({ choices }) => choices.flatMap(({ delta }) => delta.toolCalls ?? []))
  assert.equal(calls[0]?.function?.name, 'look')
  assert.equal(calls.map((piece) => piece.function?.arguments ?? '').join(''), '{"a":1}')
})

test('an answer follows a schema', async () => {
  await using portico = await openPortico()
  const schema = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] }
  const responseFormat = { type: 'json_schema' as const, jsonSchema: { name: 'place', schema, strict: true } }
  const { content } = await messageOf(portico, ask('{"city":"Rome"}', { responseFormat }))
  assert.deepEqual(JSON.parse(String(content)), { city: 'Rome' })
})

test('errors are the typed errors of the SDK', async () => {
  await using portico = await openPortico()
  const client = openRouterClient(portico)
  const send = (content: string, by = client): Promise<unknown> => by.chat.send(ask(content))
  await assert.rejects(client.chat.send(ask('x', { temperature: 3 })), errors.BadRequestResponseError)
  await assert.rejects(send('x', openRouterClient(portico, 'sk-wrong')), errors.UnauthorizedResponseError)
  await assert.rejects(send('x', openRouterClient(portico, PORTICO_KEYS.management)), errors.ForbiddenResponseError)
  await assert.rejects(send('/fail 429'), errors.TooManyRequestsResponseError)
  await assert.rejects(send('/fail 504'), errors.RequestTimeoutResponseError)
  await assert.rejects(send('/fail 500'), errors.BadGatewayResponseError)
  await assert.rejects(send('/fail 503'), errors.ServiceUnavailableResponseError)
})

test('a failure in the middle is an error in the last chunk', async () => {
  await using portico = await openPortico()
  const last = (await chunksOf(portico, '/fail 500 after 1\n/length 3')).at(-1)
  assert.equal(last?.error?.code, 502)
  assert.equal(last?.error?.metadata?.errorType, 'provider_unavailable')
  assert.equal(last?.choices[0]?.finishReason, 'error')
})

test('leaving a stream, or aborting a request, ends the generation', async () => {
  await using stub = await startStub((response) => {
    if (stub.seen.length > 1) return
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.write('data: {"choices":[{"index":0,"delta":{"content":"Hi"}}]}\n\n')
  })
  await using portico = await openPortico({ PORTICO_CONFIG: chatConfig(stub) })
  const { chatRequest } = ask('Hi', { model: 'openai/gpt-5.5' })
  const stream = await openRouterClient(portico).chat.send({ chatRequest: { ...chatRequest, stream: true } })
  for await (const _ of stream as AsyncIterable<ChatStreamChunk>) break
  await stub.hungUp
  const controller = new AbortController()
  const answer = openRouterClient(portico).chat.send({ chatRequest }, { signal: controller.signal })
  await waitFor('the second request at the provider', () => stub.seen.length === 2)
  controller.abort()
  await assert.rejects(answer, errors.RequestAbortedError)
  await waitFor('the end of the second request', () => stub.hangUps === 2)
})
