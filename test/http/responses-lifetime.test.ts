import assert from 'node:assert/strict'
import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import test from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { sendUnread } from '#test/support/client.ts'
import { PORTICO_KEYS, type Portico } from '#test/support/portico.ts'
import { startStub } from '#test/support/provider-stub.ts'
import { chatEnd, chunk, eventsOf, type Json, openWith, post, stream } from '#test/support/responses.ts'
import { waitFor } from '#test/support/wait-until.ts'

const hello = { model: 'openai/gpt-x', input: 'Hello' }

/** Begins an answer, and leaves the rest to the test. */
function begins(response: ServerResponse): void {
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  response.write(chunk({ role: 'assistant', content: 'one ' }))
}

/** Requests a stream, and returns it unread. */
const open = (portico: Portico, headers: Record<string, string> = {}) =>
  sendUnread(portico, '/api/v1/responses', { ...hello, stream: true }, { key: PORTICO_KEYS.api, headers })

test('a client that hangs up in the middle aborts the request to the provider', async () => {
  await using stub = await startStub(begins)
  await using portico = await openWith(stub)
  const answer = await open(portico)
  await once(answer, 'data')
  answer.destroy()
  await stub.hungUp
  await waitFor('the stream to be closed', () => portico.listener.lifecycle.openStreams === 0)
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
  const url = `data:image/png;base64,${'AAAA'.repeat(12_500)}`
  const pictures = 300
  let sent = 0
  await using stub = await startStub(async (response) => {
    begins(response)
    for (sent = 0; sent < pictures; sent++) {
      if (!response.write(chunk({ images: [{ image_url: { url } }] }))) await once(response, 'drain')
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
  assert.ok(seen < pictures, `the provider has sent ${seen} of ${pictures} pictures to nobody`)
  answer.setEncoding('utf8')
  let text = ''
  for await (const piece of answer) text += piece
  const events = eventsOf(text)
  assert.equal(events.filter(({ type }) => type === 'response.output_item.done').length, pictures + 1)
  assert.equal(events.at(-1)?.response.status, 'completed')
})

test('a provider that cuts its answer off fails the response, and the stream still ends as it should', async () => {
  await using stub = await startStub((response) => {
    begins(response)
    response.write(': cut\n\n', () => response.destroy())
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
  assert.match(error.message, /^Provider error: openai is unavailable: /)
  assert.equal(error_type, 'provider_unavailable')
  assert.equal(output_text, 'one ')
})

test('while a provider is silent the client gets comments', async () => {
  const commented = Promise.withResolvers<void>()
  await using stub = await startStub(async (response) => {
    begins(response)
    await commented.promise
    response.end(chatEnd())
  })
  await using portico = await openWith(stub, { PORTICO_KEEP_ALIVE_MS: '20' })
  const { body } = await post(portico, { ...hello, stream: true })
  let text = ''
  for await (const piece of body?.pipeThrough(new TextDecoderStream()) ?? []) {
    text += piece
    if (text.includes('\n\n: OPENROUTER PROCESSING\n\n')) commented.resolve()
  }
  const events = eventsOf(text.replaceAll(': OPENROUTER PROCESSING\n\n', ''))
  assert.equal(events.at(-1)?.response.status, 'completed')
})

test('a server that stops lets an answer go on for a while, then ends its stream as failed', async () => {
  await using stub = await startStub(begins)
  const portico = await openWith(stub)
  const answer = await post(portico, { ...hello, stream: true })
  const reader = answer.body?.pipeThrough(new TextDecoderStream()).getReader()
  let text = (await reader?.read())?.value ?? ''
  const stopped = portico.listener.drain(400)
  for (let next = await reader?.read(); next?.done === false; next = await reader?.read()) text += next.value
  await stopped
  await portico[Symbol.asyncDispose]()
  const last = eventsOf(text).at(-1) as Json
  assert.equal(last.type, 'response.done')
  assert.deepEqual(last.response.error, { code: 'server_error', message: 'The server is stopping' })
  assert.equal(last.response.status, 'failed')
})
