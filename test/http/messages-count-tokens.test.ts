import assert from 'node:assert/strict'
import test from 'node:test'
import { openAnthropic, post } from '#test/support/messages.ts'
import { openPortico, PORTICO_KEYS, type Portico } from '#test/support/portico.ts'
import { answers, startStub } from '#test/support/provider-stub.ts'
import type { Json } from '#test/support/responses.ts'

const hello = { messages: [{ role: 'user' as const, content: 'How many?' }], system: 'Count.' }
const tools = [{ name: 'f', input_schema: { type: 'object' as const } }]

async function count(portico: Portico, body: object): Promise<[number, unknown]> {
  const answer = await post(portico, body, { 'anthropic-beta': 'b-2026' }, '/api/v1/messages/count_tokens')
  return [answer.status, await answer.json()]
}

test('asks Anthropic for the number of tokens of a message, and sends only the members that count as input', async () => {
  await using stub = await startStub(answers(200, { input_tokens: 42 }))
  await using portico = await openAnthropic(stub)
  const request = { ...hello, model: 'anthropic/claude-sonnet-5-5', max_tokens: 9, temperature: 1, tools }
  assert.deepEqual(await count(portico, request), [200, { input_tokens: 42, estimated: false }])
  const [seen = assert.fail()] = stub.seen
  assert.equal(seen.path, '/v1/messages/count_tokens')
  assert.equal(seen.headers['anthropic-beta'], 'b-2026')
  assert.deepEqual(seen.body, {
    model: 'claude-sonnet-5-5',
    messages: [{ role: 'user', content: [{ type: 'text', text: 'How many?' }] }],
    system: [{ type: 'text', text: 'Count.' }],
    tools: [{ name: 'f', input_schema: { type: 'object' } }],
  })
})

test('a count is estimated at a token for three bytes, and marked so, if the provider does not count', async () => {
  await using stub = await startStub(answers(404, { error: { message: 'no such route' } }))
  await using portico = await openAnthropic(stub)
  for (const model of ['portico/echo', 'anthropic/claude-sonnet-5-5']) {
    const [status, short] = await count(portico, { ...hello, model })
    const [, long] = await count(portico, { ...hello, model, system: 'x'.repeat(300) })
    const counted = [short, long] as { input_tokens: number; estimated: boolean }[]
    assert.deepEqual([status, counted.map(({ estimated }) => estimated)], [200, [true, true]])
    assert.equal((counted[1]?.input_tokens ?? 0) - (counted[0]?.input_tokens ?? 0), 98, model)
  }
})

test('a provider that does not answer in time is replaced by an estimate', async () => {
  await using stub = await startStub(() => {})
  await using portico = await openAnthropic(stub, { PORTICO_GENERATION_TIMEOUT_SECONDS: '1' })
  const [status, body] = await count(portico, { ...hello, model: 'anthropic/claude-sonnet-5-5' })
  assert.deepEqual([status, (body as Json).estimated], [200, true])
  await stub.hungUp
})

test('returns an error of the provider about the request instead of an estimate', async () => {
  await using stub = await startStub(answers(400, { type: 'error', error: { message: 'roles must alternate' } }))
  await using portico = await openAnthropic(stub)
  const [status, body] = await count(portico, { ...hello, model: 'anthropic/claude-sonnet-5-5' })
  assert.equal(status, 400)
  const message = 'Invalid request parameters: anthropic refused the request: roles must alternate'
  const error = { type: 'invalid_request_error', message, error_type: 'invalid_request' }
  const { request_id } = body as { request_id: string }
  assert.match(request_id, /^gen-/)
  assert.deepEqual(body, { type: 'error', error, request_id })
})

test('a count for an unknown model is refused', async () => {
  await using portico = await openPortico()
  const [status] = await count(portico, { ...hello, model: 'no/model' })
  assert.equal(status, 400)
})

test('a count is a request of its key, is limited per minute, and has a row that costs nothing', async () => {
  await using stub = await startStub(answers(200, { input_tokens: 42 }))
  await using portico = await openAnthropic(stub)
  const asManager = { authorization: `Bearer ${PORTICO_KEYS.management}`, 'content-type': 'application/json' }
  const terms = { name: 'counts', limit: 0.000001, requests_per_minute: 2 }
  const made = await portico.fetch('/api/v1/keys', { method: 'POST', headers: asManager, body: JSON.stringify(terms) })
  const { key } = (await made.json()) as { key: string }
  const path = '/api/v1/messages/count_tokens'
  const model = 'anthropic/claude-sonnet-5-5'
  const ask = (model: string) => post(portico, { ...hello, model }, { 'x-api-key': key }, path)
  // What costs nothing needs no price.
  const [one, two] = [await ask(model), await ask('anthropic/nobody-knows')]
  let more = await ask('portico/echo')
  // A new minute may have begun.
  for (let i = 0; i < 3 && more.status === 200; i++) more = await ask('portico/echo')
  assert.deepEqual([one.status, two.status, more.status, stub.seen.length], [200, 200, 429, 2])
  assert.ok(Number(more.headers.get('retry-after')) >= 1)
  const id = one.headers.get('x-generation-id') ?? ''
  const shown = await portico.fetch(`/api/v1/generation?id=${id}`, { headers: { authorization: `Bearer ${key}` } })
  const { data } = (await shown.json()) as Json
  assert.deepEqual(
    [data.status, data.origin, data.model, data.total_cost, data.cost_known, data.tokens_prompt],
    ['completed', 'count_tokens', model, 0, true, null],
  )
  const activity = await portico.fetch('/api/v1/activity', { headers: asManager })
  const rows = ((await activity.json()) as Json).data as Json[]
  const counted = rows.flatMap(({ model, requests, usage }) => (model === 'portico/echo' ? [] : [[requests, usage]]))
  assert.deepEqual(counted, [
    [1, 0],
    [1, 0],
  ])
})
