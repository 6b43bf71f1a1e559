// What a provider sends in another form than its API documents does not get lost on the way.
import assert from 'node:assert/strict'
import test from 'node:test'
import { PORTICO_KEYS, type Portico } from '#test/support/portico.ts'
import { answers, startStub } from '#test/support/provider-stub.ts'
import { type Json, openWith } from '#test/support/responses.ts'

const messages = [{ role: 'user', content: 'Hello' }]

async function post(portico: Portico, path: string, body: object) {
  const headers = { authorization: `Bearer ${PORTICO_KEYS.api}`, 'content-type': 'application/json' }
  const request = { method: 'POST', headers, body: JSON.stringify({ model: 'openai/gpt-x', ...body }) }
  const answer = await portico.fetch(path, request)
  return { status: answer.status, body: (await answer.json()) as Json }
}

test('the arguments of a call, sent as an object, reach the client in each dialect', async () => {
  const call = { id: 'call_1', type: 'function', function: { name: 'f', arguments: { a: 1 } } }
  const message = { role: 'assistant', content: null, tool_calls: [call] }
  await using stub = await startStub(answers(200, { choices: [{ index: 0, message, finish_reason: 'tool_calls' }] }))
  await using portico = await openWith(stub)
  const chat = await post(portico, '/api/v1/chat/completions', { messages })
  assert.equal(chat.body.choices[0].message.tool_calls[0].function.arguments, '{"a":1}')
  const made = await post(portico, '/api/v1/messages', { messages, max_tokens: 9 })
  assert.deepEqual(made.body.content[0].input, { a: 1 })
  const response = await post(portico, '/api/v1/responses', { input: 'Hello' })
  assert.equal(response.body.output[0].arguments, '{"a":1}')
})

test('a content that makes no sense is a failure of the provider', async () => {
  const message = { role: 'assistant', content: 42 }
  const usage = { prompt_tokens: 10, completion_tokens: 5 }
  await using stub = await startStub(answers(200, { choices: [{ index: 0, message, finish_reason: 'stop' }], usage }))
  await using portico = await openWith(stub)
  for (const [path, body] of Object.entries({
    '/api/v1/chat/completions': { messages },
    '/api/v1/messages': { messages, max_tokens: 9 },
    '/api/v1/responses': { input: 'Hello' },
  })) {
    const { status, body: answer } = await post(portico, path, body)
    assert.equal(status, 502, path)
    assert.match(answer.error.message, /openai is unavailable: It sent a content that is neither text nor a list/)
  }
})
