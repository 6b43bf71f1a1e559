// A provider that generates more than the maximum it was sent, or seems to.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import test from 'node:test'
import { chunksOf, foldChunks } from '#test/support/chat.ts'
import { call, send } from '#test/support/client.ts'
import { openPortico, PORTICO_KEYS, type Portico } from '#test/support/portico.ts'
import { providerConfig } from '#test/support/provider-config.ts'
import { answers, type ProviderStub, startStub, streams } from '#test/support/provider-stub.ts'
import { chatEnd, chunk, type Json } from '#test/support/responses.ts'

const MAXIMUM = 100
const content = 'word '.repeat(600)

async function endless(response: ServerResponse): Promise<void> {
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  while (!response.destroyed) if (!response.write(chunk({ content }))) await once(response, 'drain').catch(() => {})
}

function openPriced(stub: ProviderStub): Promise<Portico> {
  const models = [{ id: 'gpt', pricing: { input: 0, output: 1 } }]
  const provider = { id: 'openai', protocol: 'openai', baseURL: `${stub.url}/v1`, apiKey: 'sk-upstream', models }
  return openPortico({ PORTICO_CONFIG: providerConfig([provider]) })
}

async function ask(portico: Portico, stream: boolean, maximum = MAXIMUM): Promise<{ text: string; row: Json }> {
  const key = PORTICO_KEYS.api
  const messages = [{ role: 'user', content: 'Hello' }]
  const body = { model: 'openai/gpt', messages, max_tokens: maximum, stream }
  const answer = await send(portico, 'POST', '/api/v1/chat/completions', body, { key })
  const text = await answer.text()
  const path = `/api/v1/generation?id=${answer.headers.get('x-generation-id')}`
  const row = await call(portico, 'GET', path, undefined, { key })
  return { text, row: row.json.data }
}

test('output of unreported size is charged for up to the maximum, which was reserved', async () => {
  const whole = { choices: [{ index: 0, message: { role: 'assistant', content }, finish_reason: 'stop' }] }
  await using stub = await startStub((response) => {
    const { stream } = Object(stub.seen.at(-1)?.body) as Json
    const end = `${chunk({ content })}${chunk({}, {}, 'stop')}data: [DONE]\n\n`
    return (stream === true ? streams(end) : answers(200, whole))(response)
  })
  await using portico = await openPriced(stub)
  for (const stream of [false, true]) {
    const { text, row } = await ask(portico, stream)
    assert.ok(text.includes(content))
    assert.deepEqual([row.tokens_completion, row.total_cost], [MAXIMUM, MAXIMUM / 1e6])
  }
})

/** What a client gets of a stream, and the row of its request. */
async function streamed(text: string, maximum?: number) {
  await using stub = await startStub(streams(text))
  await using portico = await openPriced(stub)
  const { text: got, row } = await ask(portico, true, maximum)
  const chunks = chunksOf(got)
  return { length: foldChunks(chunks).content.length, reason: chunks.at(-2)?.choices[0].finish_reason, row }
}

const endOf = (tokens: number) => chatEnd('stop', { prompt_tokens: 3, completion_tokens: tokens })

test('a stream far longer than the maximum ends by length, its provider is cut off, and the output so far is charged for', async () => {
  await using stub = await startStub(endless)
  await using portico = await openPriced(stub)
  const { text, row } = await ask(portico, true)
  await stub.hungUp
  const chunks = chunksOf(text)
  const { length } = foldChunks(chunks).content
  assert.ok(length > 3 * 4_000 && length < 1_000_000, `${length} characters`)
  assert.equal(chunks.at(-2)?.choices[0].finish_reason, 'length')
  assert.deepEqual([row.finish_reason, row.tokens_completion], ['length', Math.ceil(length / 3)])
})

test('reads a stream on after the cut for its usage, which counts', async () => {
  const { length, reason, row } = await streamed(chunk({ content }).repeat(200) + endOf(140_000))
  assert.ok(length < 200 * content.length, `${length} characters`)
  assert.deepEqual([reason, row.finish_reason, row.tokens_completion], ['length', 'length', 140_000])
})

test('reasoning without reported usage is charged for beyond the maximum', async () => {
  const thought = chunk({ reasoning_content: content }).repeat(10)
  const { row } = await streamed(`${thought}${chunk({ content })}${chunk({}, {}, 'stop')}data: [DONE]\n\n`)
  assert.equal(row.tokens_completion, 10 * 1_000 + MAXIMUM)
})
