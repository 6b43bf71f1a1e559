// Everything served below /api/v1 is served below /v1 as well.
import assert from 'node:assert/strict'
import test from 'node:test'
import { send } from '#test/support/client.ts'
import { generationError } from '#test/support/gateway-error.ts'
import { openPortico, PORTICO_KEYS, type Portico } from '#test/support/portico.ts'
import { eventsOf, type Json } from '#test/support/responses.ts'

const said = { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'Hi' }] }
const history = [said, { role: 'user', content: 'go on' }]

function ask(portico: Portico, path: string, body: Json, headers: Record<string, string> = {}): Promise<Response> {
  const sending = { key: PORTICO_KEYS.api, headers }
  return send(portico, 'POST', path, { model: 'portico/echo', ...body }, sending)
}

async function typesOf(answer: Response): Promise<Set<string>> {
  return new Set(eventsOf(await answer.text()).map(({ type }) => type))
}

test('responses below /v1 stream OpenAI’s dialect, and history needs no ids', async () => {
  await using portico = await openPortico()
  const answer = await ask(portico, '/v1/responses', { input: history, stream: true })
  assert.equal(answer.status, 200)
  const text = await answer.text()
  assert.match(text, /^event: response\.created\ndata: /)
  assert.doesNotMatch(text, /response\.(done|content_part\.delta)"/)
  const asked = await ask(portico, '/v1/responses', { input: 'x', stream: true }, { 'x-stream-dialect': 'both' })
  assert.ok((await typesOf(asked)).has('response.done'))
})

test('an unknown path, a wrong method and a missing key are answered there as below /api/v1', async () => {
  await using portico = await openPortico()
  const headers = { authorization: `Bearer ${PORTICO_KEYS.api}` }
  for (const mount of ['/api/v1', '/v1']) {
    const missing = await portico.fetch(`${mount}/responses`, { method: 'POST' })
    assert.deepEqual(
      [missing.status, await missing.json()],
      [401, generationError(401, 'Missing Authentication header')],
    )
    const unknown = await portico.fetch(`${mount}/nothing`, { headers })
    assert.deepEqual([unknown.status, await unknown.json()], [404, errorOf(404, 'Resource not found: no such route')])
    const wrong = await portico.fetch(`${mount}/responses`, { headers })
    assert.deepEqual([wrong.status, wrong.headers.get('allow')], [405, 'POST'])
    assert.equal((await portico.fetch(`${mount}/oauth/jwks`)).status, 200)
    const token = await portico.fetch(`${mount}/oauth/nothing`, { method: 'POST' })
    assert.deepEqual(await token.json(), { error: 'invalid_request', error_description: 'No such route' })
  }
})

const errorOf = (code: number, message: string) => ({ error: { code, message } })

test('a server can be set to a dialect, and to history without ids', async () => {
  {
    await using portico = await openPortico({ PORTICO_RESPONSES_DIALECT: 'openai' })
    const answer = await ask(portico, '/api/v1/responses', { input: history, stream: true })
    assert.equal(answer.status, 200)
    assert.equal((await typesOf(answer)).has('response.done'), false)
  }
  await using portico = await openPortico({ PORTICO_HISTORY_IDS: 'false' })
  assert.equal((await ask(portico, '/api/v1/responses', { input: history })).status, 200)
})

test('the dialect does not depend on the name of a client', async () => {
  await using portico = await openPortico()
  const named = { 'user-agent': 'ai/6.0 ai-sdk/openai/3.0' }
  assert.equal((await ask(portico, '/api/v1/responses', { input: history }, named)).status, 400)
})

test('a key can be set to a dialect, and to history with or without ids', async () => {
  await using portico = await openPortico()
  const management = { authorization: `Bearer ${PORTICO_KEYS.management}` }
  const settings = { name: 'editor', responses_dialect: 'openai', history_ids: true }
  const made = await portico.fetch('/api/v1/keys', {
    ...{ method: 'POST', headers: { ...management, 'content-type': 'application/json' } },
    body: JSON.stringify(settings),
  })
  const { key, data } = (await made.json()) as Json
  assert.deepEqual([made.status, data.responses_dialect, data.history_ids], [201, 'openai', true])
  const authorization = `Bearer ${key}`
  const answer = await ask(portico, '/api/v1/responses', { input: history, stream: true }, { authorization })
  assert.equal((await typesOf(answer)).has('response.done'), false)

  const change = { responses_dialect: null, history_ids: false }
  const changed = await portico.fetch(`/api/v1/keys/${data.hash}`, {
    ...{ method: 'PATCH', headers: { ...management, 'content-type': 'application/json' } },
    body: JSON.stringify(change),
  })
  assert.equal(changed.status, 200)
  const again = await ask(portico, '/api/v1/responses', { input: history, stream: true }, { authorization })
  assert.ok((await typesOf(again)).has('response.done'))
})
