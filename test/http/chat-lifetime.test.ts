import assert from 'node:assert/strict'
import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import test from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import OpenAI from 'openai'
import { chunksOf, foldChunks, postChat, streamChat } from '#test/support/chat.ts'
import { sendUnread } from '#test/support/client.ts'
import { PORTICO_KEYS, type Portico } from '#test/support/portico.ts'
import { answers, startStub } from '#test/support/provider-stub.ts'
import { chatEnd, chunk, type Json, openWith } from '#test/support/responses.ts'
import { openAiClient } from '#test/support/vendor-clients.ts'
import { waitFor } from '#test/support/wait-until.ts'

const hello = { model: 'openai/gpt-x', messages: [{ role: 'user', content: 'Hello' }] }

/** Begins an answer, and leaves the rest to the test. */
function begins(response: ServerResponse): void {
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  response.write(chunk({ role: 'assistant', content: 'one ' }))
}

/** Requests a stream, and returns it unread. */
const open = (portico: Portico) =>
  sendUnread(portico, '/api/v1/chat/completions', { ...hello, stream: true }, { key: PORTICO_KEYS.api })

test('a client that hangs up in the middle aborts the request to the provider', async () => {
  await using stub = await startStub(begins)
  await using portico = await openWith(stub)
  const answer = await open(portico)
  await once(answer, 'data')
  answer.destroy()
  await stub.hungUp
  await waitFor('the stream to end', () => portico.listener.lifecycle.openStreams === 0)
})

test('a client that hangs up while it waits for JSON aborts the request to the provider', async () => {
  const begun = Promise.withResolvers<void>()
  await using stub = await startStub((response) => {
    begins(response)
    begun.resolve()
  })
  await using portico = await openWith(stub)
  const controller = new AbortController()
  const answer = postChat(portico, hello, {}, controller.signal)
  await begun.promise
  controller.abort()
  await assert.rejects(answer, { name: 'AbortError' })
  await stub.hungUp
})

test('abort() of OpenAI’s stream helper aborts the request to the provider', async () => {
  await using stub = await startStub(begins)
  await using portico = await openWith(stub)
  const client = openAiClient(portico)
  const { model } = hello
  const stream = client.chat.completions.stream({ model, messages: [{ role: 'user', content: 'Hello' }] })
  stream.on('content', () => stream.abort())
  await assert.rejects(stream.finalContent(), OpenAI.APIUserAbortError)
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
  const answer = await open(portico)
  let seen = 0
  for (let quiet = 0; quiet < 20; quiet = sent === seen ? quiet + 1 : 0) {
    seen = sent
    await delay(20)
  }
  assert.ok(seen < pictures, `the provider has sent ${seen} of ${pictures} pictures to nobody`)
  answer.setEncoding('utf8')
  let text = ''
  for await (const piece of answer) text += piece
  const chunks = chunksOf(text)
  assert.equal(foldChunks(chunks).images.length, pictures)
  assert.equal(chunks.at(-2)?.choices[0].finish_reason, 'stop')
})

test('a provider that cuts its answer off fails the stream, which still ends as it should', async () => {
  await using stub = await startStub((response) => {
    begins(response)
    response.write(': cut\n\n', () => response.destroy())
  })
  await using portico = await openWith(stub)
  const chunks = await streamChat(portico, hello)
  const { error, choices } = chunks.at(-1) as Json
  assert.equal(foldChunks(chunks).content, 'one ')
  assert.equal(choices[0].finish_reason, 'error')
  assert.deepEqual([error.code, error.metadata.error_type], [502, 'provider_unavailable'])
  assert.match(error.message, /^Provider error: openai is unavailable: /)
})

test('while a provider is silent the client gets comments, before its first word and after it', async () => {
  const released = [Promise.withResolvers<void>(), Promise.withResolvers<void>()] as const
  await using stub = await startStub(async (response) => {
    await released[0].promise
    begins(response)
    await released[1].promise
    response.end(chatEnd())
  })
  await using portico = await openWith(stub, { PORTICO_KEEP_ALIVE_MS: '20' })
  const answer = await postChat(portico, { ...hello, stream: true })
  assert.equal(answer.status, 200)
  let text = ''
  for await (const piece of answer.body?.pipeThrough(new TextDecoderStream()) ?? []) {
    text += piece
    if (text.startsWith(': OPENROUTER PROCESSING\n\n')) released[0].resolve()
    if (/"content":"one "[^\n]*\n\n: OPENROUTER PROCESSING\n\n/.test(text)) released[1].resolve()
  }
  const chunks = chunksOf(text.replaceAll(': OPENROUTER PROCESSING\n\n', ''))
  assert.equal(chunks.at(-2)?.choices[0].finish_reason, 'stop')
})

test('a client that waits for JSON gets white space, and a late failure is an error beside the choice', async () => {
  const gate = Promise.withResolvers<void>()
  const failing = answers(500, { error: { message: 'broken' } })
  await using stub = await startStub(async (response) => {
    await gate.promise
    failing(response)
  })
  await using portico = await openWith(stub, { PORTICO_KEEP_ALIVE_MS: '20' })
  const answer = await postChat(portico, hello)
  assert.equal(answer.status, 200)
  gate.resolve()
  const text = await answer.text()
  assert.match(text, /^\n+\{/)
  const { id, created, ...body } = JSON.parse(text) as Json
  assert.deepEqual([answer.headers.get('x-generation-id'), typeof created], [id, 'number'])
  const message = { role: 'assistant', content: '', refusal: null, reasoning: null }
  const error = {
    code: 502,
    message: 'Provider error: openai is unavailable: broken',
    metadata: { provider_name: 'openai', error_type: 'provider_unavailable' },
  }
  assert.deepEqual(body, {
    object: 'chat.completion',
    model: 'openai/gpt-x',
    system_fingerprint: null,
    service_tier: null,
    choices: [{ index: 0, finish_reason: 'error', native_finish_reason: null, logprobs: null, message, error }],
    error,
  })
})

test('a stream that fails before its first word, after a comment, says so as a chunk', async () => {
  const gate = Promise.withResolvers<void>()
  await using stub = await startStub(async (response) => {
    await gate.promise
    response.destroy()
  })
  await using portico = await openWith(stub, { PORTICO_KEEP_ALIVE_MS: '20' })
  const answer = await postChat(portico, { ...hello, stream: true })
  gate.resolve()
  const text = await answer.text()
  const [only, ...others] = chunksOf(text.replaceAll(': OPENROUTER PROCESSING\n\n', ''))
  assert.deepEqual([only?.model, only?.error.code, others], ['openai/gpt-x', 502, []])
})

test('a server that stops lets an answer go on for a while, then ends its stream with an error', async () => {
  await using stub = await startStub(begins)
  const portico = await openWith(stub)
  const answer = await postChat(portico, { ...hello, stream: true })
  const reader = answer.body?.pipeThrough(new TextDecoderStream()).getReader()
  let text = (await reader?.read())?.value ?? ''
  const stopped = portico.listener.drain(400)
  for (let next = await reader?.read(); next?.done === false; next = await reader?.read()) text += next.value
  await stopped
  await portico[Symbol.asyncDispose]()
  const error = { code: 503, message: 'The server is stopping', metadata: { error_type: 'server' } }
  assert.deepEqual(chunksOf(text).at(-1)?.error, error)
})

test('chat completions below /v1 are the same as below /api/v1', async () => {
  await using stub = await startStub(answers(200, { choices: [{ message: { content: 'Hi' }, finish_reason: 'stop' }] }))
  await using portico = await openWith(stub)
  const headers = { authorization: `Bearer ${PORTICO_KEYS.api}`, 'content-type': 'application/json' }
  const answer = await portico.fetch('/v1/chat/completions', { method: 'POST', headers, body: JSON.stringify(hello) })
  assert.equal(((await answer.json()) as Json).choices[0].message.content, 'Hi')
})
