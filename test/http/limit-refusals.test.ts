import assert from 'node:assert/strict'
import test from 'node:test'
import type { MessageInitShape } from '@bufbuild/protobuf'
import { type KeyTermsSchema, Principal_Kind } from '#gen/portico/identity/v1/identity_pb.js'
import { openPortico, type Portico } from '#test/support/portico.ts'
import { providerConfig } from '#test/support/provider-config.ts'
import { answers, type ProviderStub, startStub, streams } from '#test/support/provider-stub.ts'
import { chatEnd, chunk, type Json } from '#test/support/responses.ts'

type Terms = MessageInitShape<typeof KeyTermsSchema>

const COMPLETION = {
  ...{ id: 'c', object: 'chat.completion', created: 1, model: 'gpt' },
  choices: [{ index: 0, message: { role: 'assistant', content: 'Hi' }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 },
}
const messages = [{ role: 'user', content: 'Hello' }]
/**
 * A request in each dialect that may cost 206,000 nano-dollars: 6 tokens of input at 1 dollar per million, 100 of
 * output at 2.
 */
const DIALECTS: Readonly<Record<string, object>> = {
  responses: { input: 'Hello', max_output_tokens: 100 },
  'chat/completions': { messages, max_completion_tokens: 100 },
  messages: { messages, max_tokens: 100 },
}

function openPriced({ url }: ProviderStub): Promise<Portico> {
  const models = [{ id: 'gpt', pricing: { input: 1, output: 2 } }, { id: 'dark' }]
  const provider = { id: 'priced', protocol: 'openai', baseURL: `${url}/v1`, apiKey: 'sk-upstream', models }
  return openPortico({ PORTICO_CONFIG: providerConfig([provider]) })
}

/** Sends requests with a new key with such terms. */
async function clientWith({ identity, operator, fetch }: Portico, dialect: string, terms: Terms) {
  const { secret } = await identity.createApiKey({ kind: Principal_Kind.WORKSPACE, name: 'limited', terms }, operator)
  return async (more: object = {}): Promise<Response> =>
    fetch(`/api/v1/${dialect}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${secret}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'priced/gpt', ...DIALECTS[dialect], ...more }),
    })
}

/** Compares a refusal with all that it has to be; returns its headers. */
async function assertRefused(answer: Response, dialect: string, status: 402 | 429, message: string): Promise<Headers> {
  const { headers } = answer
  const id = headers.get('x-generation-id')
  assert.match(id ?? '', /^gen-[0-9A-Za-z]{24}$/)
  assert.match(headers.get('x-request-id') ?? '', /^req_[0-9A-Za-z]{24}$/)
  const [type, errorType] =
    status === 402 ? ['billing_error', 'payment_required'] : ['rate_limit_error', 'rate_limit_exceeded']
  const expected =
    dialect === 'messages'
      ? { type: 'error', error: { type, message, error_type: errorType }, request_id: id }
      : { error: { code: status, message, metadata: { error_type: errorType } } }
  const text = await answer.text()
  assert.deepEqual([answer.status, JSON.parse(text)], [status, expected])
  const { date: _, 'x-generation-id': _id, 'x-request-id': _request, ...others } = Object.fromEntries(headers)
  const limits = ['retry-after', 'x-ratelimit-limit', 'x-ratelimit-remaining', 'x-ratelimit-reset']
  const ofDialect = dialect === 'messages' ? { 'request-id': id } : {}
  assert.deepEqual(others, {
    ...{ 'content-type': 'application/json; charset=utf-8', 'content-length': String(Buffer.byteLength(text)) },
    ...{ 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' },
    ...{ connection: 'keep-alive', 'keep-alive': 'timeout=65', ...ofDialect },
    ...(status === 402 ? {} : Object.fromEntries(limits.map((name) => [name, headers.get(name) ?? assert.fail(name)]))),
  })
  return headers
}

/** The headers of a limit say the same thing twice: in how many seconds it is whole again, and when. */
function assertLimit(headers: Headers, most: number): void {
  const number = (name: string): number => Number(headers.get(name))
  assert.deepEqual([number('x-ratelimit-limit'), number('x-ratelimit-remaining')], [most, 0])
  const [seconds, reset, sent] = [
    number('retry-after'),
    number('x-ratelimit-reset'),
    Date.parse(`${headers.get('date')}`),
  ]
  assert.ok(seconds >= 1 && seconds <= 60 && Number.isInteger(seconds), `${seconds}`)
  // The date has no milliseconds.
  assert.ok(reset > sent && Math.abs(reset - sent - seconds * 1_000) <= 1_000, `${reset} ${sent} ${seconds}`)
}

for (const dialect of Object.keys(DIALECTS)) {
  test(`${dialect}: 402 names the amount left, in the envelope of the dialect and without other headers, whole and streamed`, async () => {
    await using stub = await startStub(answers(200, COMPLETION))
    await using portico = await openPriced(stub)
    const poor = await clientWith(portico, dialect, { limitNanos: 100_000n })
    const dark = await clientWith(portico, dialect, { limitNanos: 1n })
    for (const stream of [false, true]) {
      const left =
        'the request may cost 0.000206 US dollars, and 0.0001 are left, which pays for at most 47 output tokens'
      const beginning = 'Insufficient credits: '
      const message = `${beginning}The limit of the key leaves too little: ${left}`
      await assertRefused(await poor({ stream }), dialect, 402, message)
      const remedy = 'PORTICO_CONFIG can set its pricing, and PORTICO_ALLOW_UNPRICED_MODELS can allow it'
      const unknown = `${beginning}The price of priced/dark is unknown, and the key has a limit: ${remedy}`
      await assertRefused(await dark({ stream, model: 'priced/dark' }), dialect, 402, unknown)
    }
    assert.equal(stub.seen.length, 0)
  })

  test(`${dialect}: 429 says which rate of the key, and when to try again, whole and streamed`, async () => {
    let gate = Promise.resolve()
    await using stub = await startStub(async (response) => {
      await gate
      const request = stub.seen.at(-1)?.body as Json
      if (request.stream === true) streams(chunk({ role: 'assistant', content: 'Hi' }) + chatEnd())(response)
      else answers(200, COMPLETION)(response)
    })
    await using portico = await openPriced(stub)
    for (const [terms, most, words] of [
      [{ requestsPerMinute: 1 }, 1, 'make 1 request a minute'],
      [{ tokensPerMinute: 7n }, 7, 'use 7 tokens a minute'],
    ] as const) {
      for (const stream of [false, true]) {
        const fast = await clientWith(portico, dialect, terms)
        let answer = await fast({ stream })
        // A new minute may begin between two of them.
        for (let i = 0; i < 3 && answer.status === 200; i++) {
          await answer.text()
          answer = await fast({ stream })
        }
        const headers = await assertRefused(answer, dialect, 429, `Rate limit exceeded: the key may ${words}`)
        assertLimit(headers, most)
        assert.equal(Number(headers.get('x-ratelimit-reset')) % 60_000, 0)
      }
    }
    const held = Promise.withResolvers<void>()
    gate = held.promise
    const calls = stub.seen.length
    const many = await clientWith(portico, dialect, { concurrentRequests: 1 })
    const first = many()
    while (stub.seen.length === calls) await new Promise((resolve) => setTimeout(resolve, 5))
    for (const stream of [false, true]) {
      const message = 'Rate limit exceeded: the key may make 1 request at once'
      assertLimit(await assertRefused(await many({ stream }), dialect, 429, message), 1)
    }
    held.resolve()
    assert.equal((await first).status, 200)
    assert.equal(stub.seen.length, calls + 1)
  })
}

test('a request with more tokens than its key may use a minute is 400, and names the member that is too long', async () => {
  await using stub = await startStub(answers(200, COMPLETION))
  await using portico = await openPriced(stub)
  for (const [dialect, more, member] of [
    ['responses', {}, 'input'],
    ['chat/completions', {}, 'messages'],
    ['chat/completions', { messages: undefined, prompt: 'Hello' }, 'prompt'],
    ['messages', {}, 'messages'],
  ] as const) {
    const answer = await (await clientWith(portico, dialect, { tokensPerMinute: 1n }))(more)
    const { error } = (await answer.json()) as Json
    const problem = 'about \\d+ tokens are more than the 1 that the key may use a minute'
    assert.match(error.message, new RegExp(`${member}: ${problem}$`))
    assert.equal(answer.status, 400)
  }
  assert.equal(stub.seen.length, 0)
})
