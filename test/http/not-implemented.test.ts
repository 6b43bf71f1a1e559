import assert from 'node:assert/strict'
import test from 'node:test'
import { openPortico, PORTICO_KEYS } from '#test/support/portico.ts'

const model = 'portico/echo'
const response = { model, input: 'Hello' }
const chat = { model, messages: [{ role: 'user', content: 'Hello' }] }
const tools = [{ type: 'openrouter:web_search' }]

/** What README says that clients of `/api/v1` will miss, with the status that it gives for it. */
const MISSING: readonly (readonly [status: number, method: string, path: string, body?: object])[] = [
  [400, 'POST', '/responses', { ...response, store: true }],
  [400, 'POST', '/responses', { ...response, previous_response_id: 'resp_1' }],
  [400, 'POST', '/responses', { ...response, conversation: 'conv_1' }],
  [400, 'POST', '/responses', { ...response, background: true }],
  [400, 'POST', '/chat/completions', { ...chat, n: 2 }],
  [404, 'GET', '/responses/resp_1'],
  [404, 'POST', '/embeddings', response],
  [404, 'POST', '/completions', { model, prompt: 'Hello' }],
  ...['/images/generations', '/audio/speech', '/files', '/batches', '/rerank', '/videos'].map(
    (path) => [404, 'POST', path, { model, prompt: 'Hello' }] as const,
  ),
  [400, 'POST', '/responses', { ...response, tools }],
  [405, 'DELETE', '/presets/brief'],
  [404, 'POST', '/messages/batches', { requests: [] }],
]

test('what README says that clients of the gateway will miss is refused as it says', async () => {
  await using portico = await openPortico()
  const headers = { authorization: `Bearer ${PORTICO_KEYS.api}`, 'content-type': 'application/json' }
  for (const [status, method, path, body] of MISSING) {
    const request = { method, headers, ...(body === undefined ? {} : { body: JSON.stringify(body) }) }
    const answer = await portico.fetch(`/api/v1${path}`, request)
    const text = await answer.text()
    assert.equal(answer.status, status, `${method} ${path} ${JSON.stringify(body)}: ${text}`)
  }
})
