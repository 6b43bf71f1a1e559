import assert from 'node:assert/strict'
import type { ServerResponse } from 'node:http'
import { test } from 'node:test'
import { eventsOf, generationRequest } from '#test/support/generation.ts'
import { answers, fixture, startStub, streams } from '#test/support/provider-stub.ts'
import { silentLogger } from '#test/support/transports.ts'
import { waitFor } from '#test/support/wait-until.ts'
import { ProviderSet } from '../providers/provider-set.ts'

const signal = new AbortController().signal
const chunk = (text: string, more = '') =>
  `data: {"choices":[{"index":0,"delta":{"content":${JSON.stringify(text)}}${more}}]}\n\n`

/** A provider with a time limit of an hour, so that only the end of a call can end its connection. */
async function open(answer: (response: ServerResponse) => unknown) {
  const stub = await startStub(answer)
  const config = { id: 'p', protocol: 'openai', baseUrl: stub.url, headers: {}, models: [] } as const
  const set = new ProviderSet([{ ...config, apiKey: undefined }], 3_600_000, silentLogger)
  return {
    stub,
    provider: set.byId.get('p') ?? assert.fail(),
    async [Symbol.asyncDispose]() {
      await set[Symbol.asyncDispose]()
      await stub[Symbol.asyncDispose]()
    },
  }
}

/** Begins an event stream with a text, and leaves it open. */
const begins = (text: string) => (response: ServerResponse) => {
  response.writeHead(200, { 'content-type': 'text/event-stream' }).write(text)
}

test('whole answers leave a connection for the next call, but for a few seconds only', async () => {
  await using opened = await open(streams(fixture('openai-text.sse')))
  for (let i = 0; i < 5; i++) await eventsOf(opened.provider)
  assert.ok(opened.stub.connections < 5, `${opened.stub.connections} connections`)
  await waitFor('the idle connection to be closed', () => opened.stub.connections === 0)
})

test('the connection is closed when the provider keeps it busy after its answer has ended', async () => {
  await using opened = await open(begins(`${chunk('a', ',"finish_reason":"stop"')}data: [DONE]\n\n`))
  await eventsOf(opened.provider)
  await waitFor('the connection to be closed', () => opened.stub.connections === 0)
})

test('the connection of a failed call is closed while it is busy', async () => {
  for (const answer of [
    answers(500, { error: { message: 'broken' } }),
    begins('data: {"error":{"code":502,"message":"gone"}}\n\n'),
    begins('data: no JSON\n\n'),
    (response: ServerResponse) =>
      response.writeHead(200, { 'content-type': 'text/plain' }).write('hello'.repeat(20_000)),
    (response: ServerResponse) => response.writeHead(429).write('x'.repeat(100_000)),
  ]) {
    await using opened = await open(answer)
    await assert.rejects(eventsOf(opened.provider))
    await waitFor('the connection to be closed', () => opened.stub.connections === 0)
  }
})

test('the connection is closed when a call is aborted or left: while it waits, before its first word and in the middle', async () => {
  for (const answer of [() => {}, (response: ServerResponse) => begins('')(response), begins(chunk('a'))]) {
    await using opened = await open(answer)
    const gone = new AbortController()
    const generation = eventsOf(opened.provider, {}, gone.signal)
    await waitFor('the provider to be asked', () => opened.stub.seen.length === 1)
    gone.abort(new Error('gone'))
    await assert.rejects(generation, /gone/)
    await waitFor('the connection to be closed', () => opened.stub.connections === 0)
  }
  await using opened = await open(begins(chunk('a')))
  for await (const _ of opened.provider.stream(generationRequest(), signal)) break
  await waitFor('the connection to be closed', () => opened.stub.connections === 0)
})
