// A server that stops lets requests that have no answer yet run for a while, then answers them.
import assert from 'node:assert/strict'
import test from 'node:test'
import { PORTICO_KEYS } from '#test/support/portico.ts'
import { startStub } from '#test/support/provider-stub.ts'
import { type Json, openWith } from '#test/support/responses.ts'
import { waitFor } from '#test/support/wait-until.ts'

const messages = [{ role: 'user', content: 'Hello' }]
const requests: Readonly<Record<string, object>> = {
  '/api/v1/chat/completions': { messages },
  '/v1/responses': { input: 'Hello' },
  '/api/v1/messages': { messages, max_tokens: 9 },
}

interface Answered {
  readonly answer: Response
  readonly text: string
  readonly body: Json
}

/** Sends a request that its provider never answers, in each dialect, and returns what comes when the server stops. */
async function stopped(
  more: object,
  env: Record<string, string>,
  until: (asked: { answered: number }) => Promise<void>,
) {
  const asked = { answered: 0 }
  const all = Promise.withResolvers<void>()
  let held = 0
  await using stub = await startStub(() => {
    if (++held === Object.keys(requests).length) all.resolve()
  })
  await using portico = await openWith(stub, env)
  const headers = {
    authorization: `Bearer ${PORTICO_KEYS.api}`,
    'content-type': 'application/json',
    'x-openrouter-metadata': 'enabled',
  }
  const answers = Object.entries(requests).map(async ([path, body]) => {
    const request = { method: 'POST', headers, body: JSON.stringify({ model: 'openai/gpt-x', ...body, ...more }) }
    const answer = await portico.fetch(path, request)
    asked.answered++
    const text = await answer.text()
    return { answer, text, body: JSON.parse(text) as Json } satisfies Answered
  })
  await all.promise
  await until(asked)
  await portico.listener.drain(400)
  const got = await Promise.all(answers)
  await stub.hungUp
  return got as [chat: Answered, response: Answered, made: Answered]
}

const message = 'The server is stopping'

for (const stream of [false, true])
  test(`a client that waits for ${stream ? 'a stream' : 'JSON'} gets a 503 in its dialect, which does not claim that no provider was called`, async () => {
    const [chat, response, made] = await stopped({ stream }, {}, async () => {})
    for (const one of [chat, response, made]) {
      assert.deepEqual([one.answer.status, one.answer.headers.get('retry-after')], [503, '1'])
    }
    const error = { code: 503, message, metadata: { error_type: 'server' } }
    assert.deepEqual([chat.body, response.body], [{ error }, { error }])
    const { request_id: id, ...body } = made.body
    assert.equal(id, made.answer.headers.get('x-generation-id'))
    assert.deepEqual(body, { type: 'error', error: { type: 'api_error', message, error_type: 'server' } })
  })

test('a failure after white space was sent has its error in the body', async () => {
  const [chat, response, made] = await stopped({}, { PORTICO_KEEP_ALIVE_MS: '20' }, (asked) =>
    waitFor('the white space', () => asked.answered === 3),
  )
  for (const one of [chat, response, made]) {
    assert.equal(one.answer.status, 200)
    assert.match(one.text, /^\n+\{/)
  }
  assert.deepEqual(chat.body.error, { code: 503, message, metadata: { error_type: 'server' } })
  assert.deepEqual([response.body.status, response.body.error.message], ['failed', message])
  assert.deepEqual(made.body.error, { type: 'api_error', message, error_type: 'server' })
})
