// Nobody who waits for a model waits in silence.
import assert from 'node:assert/strict'
import test from 'node:test'
import { startStub } from '#test/support/provider-stub.ts'
import { type Json, openWith, post } from '#test/support/responses.ts'

/** A provider that answers once it is released. */
async function heldProvider(answer: (response: import('node:http').ServerResponse) => void) {
  const gate = Promise.withResolvers<void>()
  const stub = await startStub((response) => void gate.promise.then(() => answer(response)))
  return { stub, release: gate.resolve }
}

const base = { model: 'openai/gpt', input: 'Hello' }
const env = { PORTICO_KEEP_ALIVE_MS: '20' }
const json = (status: number, body: unknown) => (response: import('node:http').ServerResponse) =>
  void response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
const failing = json(500, { error: { message: 'broken' } })

test('a client that waits for JSON gets headers and white space, and then the whole answer', async () => {
  const completion = { choices: [{ message: { content: 'Hi' }, finish_reason: 'stop' }], usage: null }
  const { stub, release } = await heldProvider(json(200, completion))
  await using _ = stub
  await using portico = await openWith(stub, env)
  const answer = await post(portico, base)
  assert.equal(answer.status, 200)
  assert.match(answer.headers.get('x-generation-id') ?? '', /^gen-/)
  assert.equal(answer.headers.get('content-type'), 'application/json; charset=utf-8')
  release()
  const text = await answer.text()
  assert.match(text, /^\n+\{/)
  const body = JSON.parse(text)
  assert.deepEqual([body.status, body.output_text], ['completed', 'Hi'])
})

test('a failure that comes late is a whole response that failed', async () => {
  const { stub, release } = await heldProvider(failing)
  await using _ = stub
  await using portico = await openWith(stub, env)
  const answer = await post(portico, base)
  assert.equal(answer.status, 200)
  release()
  const body = (await answer.json()) as Json
  const { object, status, model, error, error_type, output } = body
  assert.deepEqual([object, status, model, output], ['response', 'failed', 'openai/gpt', []])
  assert.deepEqual([error.code, error_type], ['server_error', 'provider_unavailable'])
  assert.match(error.message, /broken/)
})

test('a stream sends headers and comments until its first event, and fails as a stream does', async () => {
  const { stub, release } = await heldProvider(failing)
  await using _ = stub
  await using portico = await openWith(stub, env)
  const answer = await post(portico, { ...base, stream: true })
  assert.equal(answer.headers.get('content-type'), 'text/event-stream')
  release()
  const frames = (await answer.text()).split('\n\n')
  assert.equal(frames[0], ': OPENROUTER PROCESSING')
  const events = frames.filter((frame) => frame.startsWith('data: {')).map((frame) => JSON.parse(frame.slice(6)))
  const types = ['response.created', 'response.in_progress', 'response.failed', 'response.done']
  assert.deepEqual(
    events.map(({ type }) => type),
    types,
  )
  assert.equal(events[0].response.model, 'openai/gpt')
  assert.equal(events[2].response.error_type, 'provider_unavailable')
})

test('a failure that comes in time has its status, whole or streamed', async () => {
  await using stub = await startStub(failing)
  await using portico = await openWith(stub)
  for (const stream of [false, true]) assert.equal((await post(portico, { ...base, stream })).status, 502)
})
