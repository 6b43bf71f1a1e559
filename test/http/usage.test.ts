import assert from 'node:assert/strict'
import test from 'node:test'
import type { MessageInitShape } from '@bufbuild/protobuf'
import type { KeyTermsSchema } from '#gen/portico/identity/v1/identity_pb.js'
import { Principal_Kind } from '#gen/portico/identity/v1/identity_pb.js'
import { send } from '#test/support/client.ts'
import { openPortico, PORTICO_KEYS, type Portico } from '#test/support/portico.ts'
import { providerConfig } from '#test/support/provider-config.ts'
import { answers, type ProviderStub, startStub, streams } from '#test/support/provider-stub.ts'
import { chatEnd, chunk, type Json } from '#test/support/responses.ts'
import { openRouterClient } from '#test/support/vendor-clients.ts'
import { waitFor, waitUntil } from '#test/support/wait-until.ts'

const model = 'priced/gpt'
/** A completion of 3 input and 2 output tokens: 7,000 nano-dollars. */
const COMPLETION = {
  ...{ id: 'c', object: 'chat.completion', created: 1, model: 'gpt' },
  choices: [{ index: 0, message: { role: 'assistant', content: 'Hi' }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 },
}
const COST = 7e-6
const MESSAGES = [{ role: 'user', content: 'Hello' }]
/** The same question in each dialect, with a maximum of output. */
const DIALECTS: readonly (readonly [string, (most: number | undefined) => Json])[] = [
  ['/api/v1/responses', (most) => ({ model, input: 'Hello', max_output_tokens: most })],
  ['/api/v1/chat/completions', (most) => ({ model, messages: MESSAGES, max_tokens: most })],
  ['/api/v1/messages', (most) => ({ model, messages: MESSAGES, max_tokens: most ?? 100 })],
]

function openPriced({ url }: ProviderStub): Promise<Portico> {
  const models = [{ id: 'gpt', pricing: { input: 1, output: 2 } }, { id: 'dark' }]
  const provider = { id: 'priced', protocol: 'openai', baseURL: `${url}/v1`, apiKey: 'sk-upstream', models }
  return openPortico({ PORTICO_CONFIG: providerConfig([provider]) })
}

/** A key with terms, as shown. */
async function keyWith(portico: Portico, terms: MessageInitShape<typeof KeyTermsSchema>): Promise<string> {
  const { identity, operator } = portico
  const { secret } = await identity.createApiKey({ kind: Principal_Kind.WORKSPACE, name: 'limited', terms }, operator)
  return secret
}

function postTo(
  portico: Portico,
  path: string,
  body: Json,
  key = PORTICO_KEYS.api,
  signal?: AbortSignal,
): Promise<Response> {
  return send(portico, 'POST', path, body, { key, signal })
}

async function generationOf(portico: Portico, id: string | null): Promise<Response> {
  const headers = { authorization: `Bearer ${PORTICO_KEYS.api}` }
  return portico.fetch(`/api/v1/generation?id=${id}`, { headers })
}

test("OpenRouter's SDK reads a generation, the activity and the credits", async () => {
  await using stub = await startStub(answers(200, COMPLETION))
  await using portico = await openPriced(stub)
  const [user, manager] = [openRouterClient(portico), openRouterClient(portico, PORTICO_KEYS.management)]
  const answer = await postTo(portico, '/api/v1/chat/completions', {
    ...{ model, messages: MESSAGES, user: 'someone', session_id: 'ses_1', metadata: { team: 'red' } },
  })
  const { id } = (await answer.json()) as Json
  const message = 'Resource not found: No finished generation has the id "nope"'
  assert.deepEqual(await (await generationOf(portico, 'nope')).json(), { error: { code: 404, message } })
  const generation = await user.generations.getGeneration({ id })
  assert.equal(generation?.data.totalCost, COST)
  assert.deepEqual(
    [generation?.data.id, generation?.data.model, generation?.data.finishReason, generation?.data.externalUser],
    [id, model, 'stop', 'someone'],
  )
  assert.deepEqual([generation?.data.tokensPrompt, generation?.data.tokensCompletion], [3, 2])
  const activity = await manager.analytics.getUserActivity({})
  assert.deepEqual(
    activity?.data.map(({ model, requests, usage, promptTokens }) => [model, requests, usage, promptTokens]),
    [[model, 1, COST, 3]],
  )
  const credits = await manager.credits.getCredits()
  assert.deepEqual(credits?.data, { totalCredits: 0, totalUsage: COST })
  const grouped = await portico.fetch('/api/v1/activity?metadata_key=team', {
    headers: { authorization: `Bearer ${PORTICO_KEYS.management}` },
  })
  const { data } = (await grouped.json()) as { data: Json[] }
  assert.deepEqual(
    data.map(({ metadata_value: value, requests }) => [value, requests]),
    [['red', 1]],
  )
})

for (const [path, ask] of DIALECTS) {
  test(`${path}: a limit refuses a request that it cannot pay for, before the provider is called`, async () => {
    await using stub = await startStub(answers(200, COMPLETION))
    await using portico = await openPriced(stub)
    const poor = await postTo(portico, path, ask(5_000), await keyWith(portico, { limitNanos: 1_000_000n }))
    const { error } = (await poor.json()) as Json
    assert.equal(poor.status, 402)
    assert.match(error.message, /^Insufficient credits: .* which pays for at most 4\d\d output tokens$/)
    const dark = await postTo(
      portico,
      path,
      { ...ask(10), model: 'priced/dark' },
      await keyWith(portico, { limitNanos: 1n }),
    )
    assert.equal(dark.status, 402)
    assert.match(((await dark.json()) as Json).error.message, /price of priced\/dark is unknown/)
    for (const most of [{ prompt: 0.99 }, { completion: '1.99' }]) {
      const dear = await postTo(portico, path, { ...ask(10), provider: { max_price: most } })
      assert.equal(dear.status, 404)
      const demand = 'No endpoint of "priced/gpt" meets the demands of the request: max_price'
      assert.equal(((await dear.json()) as Json).error.message, `Resource not found: ${demand}`)
    }
    assert.equal(stub.seen.length, 0)
    const slow = await keyWith(portico, { requestsPerMinute: 1 })
    const just = { max_price: { prompt: 1, completion: '2' } }
    assert.equal((await postTo(portico, path, { ...ask(10), provider: just }, slow)).status, 200)
    let fast = await postTo(portico, path, ask(10), slow)
    // A new minute may have begun between the two.
    if (fast.status === 200) fast = await postTo(portico, path, ask(10), slow)
    assert.equal(fast.status, 429)
    assert.match(((await fast.json()) as Json).error.message, /^Rate limit exceeded: /)
    const header = (name: string): number => Number(fast.headers.get(name))
    assert.ok(header('retry-after') >= 1 && header('retry-after') <= 60)
    assert.deepEqual([header('x-ratelimit-limit'), header('x-ratelimit-remaining')], [1, 0])
    assert.ok(header('x-ratelimit-reset') > Date.now())
    assert.equal(stub.seen.length, 1)
  })

  test(`${path}: the generation can be read once the last byte has arrived, whole and streamed`, async () => {
    const sse = streams(chunk({ role: 'assistant', content: 'Hi' }) + chatEnd())
    await using stub = await startStub((response) => {
      const { stream } = (stub.seen.at(-1)?.body ?? {}) as Json
      return stream === true ? sse(response) : answers(200, COMPLETION)(response)
    })
    await using portico = await openPriced(stub)
    for (let i = 0; i < 10; i++) {
      const answer = await postTo(portico, path, { ...ask(10), stream: i % 2 === 0 })
      await answer.text()
      const found = await generationOf(portico, answer.headers.get('x-generation-id'))
      const { data } = (await found.json()) as Json
      assert.deepEqual(
        [found.status, data?.total_cost, data?.streamed, data?.status],
        [200, COST, i % 2 === 0, 'completed'],
      )
    }
  })
}

test('a limit of 50 reservations lets as many of 200 concurrent requests reach the provider', async () => {
  const held: (() => void)[] = []
  await using stub = await startStub(async (response) => {
    await new Promise<void>((resolve) => held.push(resolve))
    answers(200, COMPLETION)(response)
  })
  await using portico = await openPriced(stub)
  // What one of them costs at most, found out by a refusal.
  const probe = await postTo(
    portico,
    '/api/v1/chat/completions',
    { model, messages: MESSAGES, max_tokens: 10 },
    await keyWith(portico, { limitNanos: 1n }),
  )
  const [, dollars = ''] = /may cost ([\d.]+) US/.exec(((await probe.json()) as Json).error.message) ?? []
  const limitNanos = 50n * BigInt(Math.round(Number(dollars) * 1e9))
  const key = await keyWith(portico, { limitNanos })
  const [path, ask] = ['/api/v1/chat/completions', { model, messages: MESSAGES, max_tokens: 10 }] as const
  let decided = 0
  const all = Promise.all(
    Array.from({ length: 200 }, async () => {
      const answer = await postTo(portico, path, ask, key)
      if (answer.status === 402) decided++
      return answer.status
    }),
  )
  await waitFor('all are decided', () => decided + stub.seen.length === 200)
  assert.equal(stub.seen.length, 50)
  for (const release of held) release()
  const statuses = await all
  assert.deepEqual([statuses.filter((status) => status === 200).length, decided], [50, 150])
  // What was reserved is free again: the rest pays for more.
  const next = postTo(portico, path, ask, key)
  await waitFor('the next request', () => stub.seen.length === 51)
  for (const release of held) release()
  assert.equal((await next).status, 200)
})

test('an answer that broke off counts at least the output that the client got, as an estimate', async () => {
  await using stub = await startStub((response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.write(chunk({ role: 'assistant', content: 'x'.repeat(300) }))
  })
  await using portico = await openPriced(stub)
  const controller = new AbortController()
  const body = { model, messages: MESSAGES, stream: true }
  const answer = await postTo(portico, '/api/v1/chat/completions', body, PORTICO_KEYS.api, controller.signal)
  for await (const bytes of answer.body ?? []) if (Buffer.from(bytes).includes('xxx')) break
  controller.abort()
  await stub.hungUp
  const found = await waitUntil('the row', async () => {
    const found = await generationOf(portico, answer.headers.get('x-generation-id'))
    return found.status === 200 ? ((await found.json()) as Json) : undefined
  })
  const { status, cancelled, estimated, tokens_completion: tokens, total_cost: cost } = found.data
  assert.deepEqual([status, cancelled, estimated, tokens], ['aborted', true, true, 100])
  assert.ok(cost >= 200e-6 && cost < 210e-6)
})

test('a request that fails before any output costs nothing', async () => {
  await using stub = await startStub((response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.write(chunk({ role: 'assistant', content: '' }))
    response.end('data: {"error":{"message":"overloaded","code":503}}\n\n')
  })
  await using portico = await openPriced(stub)
  const body = { model, messages: MESSAGES, stream: true }
  const answer = await postTo(portico, '/api/v1/chat/completions', body)
  await answer.text()
  const found = await generationOf(portico, answer.headers.get('x-generation-id'))
  const {
    status,
    tokens_prompt: input,
    tokens_completion: output,
    total_cost: cost,
  } = ((await found.json()) as Json).data
  assert.deepEqual({ status, input, output, cost }, { status: 'failed', input: null, output: null, cost: 0 })
})
