import assert from 'node:assert/strict'
import { dirname, join } from 'node:path'
import test from 'node:test'
import type { MessageInitShape } from '@bufbuild/protobuf'
import { type KeyTermsSchema, Principal_Kind } from '#gen/portico/identity/v1/identity_pb.js'
import { systemClock } from '#shared/clock.ts'
import { call, send } from '#test/support/client.ts'
import { openPortico, PORTICO_KEYS, type Portico } from '#test/support/portico.ts'
import { providerConfig } from '#test/support/provider-config.ts'
import { answers, type ProviderStub, startStub, streams } from '#test/support/provider-stub.ts'
import { chunk, type Json } from '#test/support/responses.ts'
import { grantAt, openBeside } from '#test/support/signing.ts'

const usage = { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 }
/** 3 tokens of input at 1 dollar per million, 2 of output at 2. */
const COST = 7e-6
const WHOLE = {
  ...{ id: 'c', object: 'chat.completion', created: 1, model: 'gpt', usage },
  choices: [{ index: 0, message: { role: 'assistant', content: 'Hi' }, finish_reason: 'stop' }],
}
const STREAMED = `${chunk({ content: 'Hi' })}${chunk({}, {}, 'stop')}data: ${JSON.stringify({ choices: [], usage })}\n\ndata: [DONE]\n\n`
const messages = [{ role: 'user', content: 'Hello' }]
/** A request in each dialect, without a maximum of output. */
const DIALECTS: Readonly<Record<string, object>> = {
  responses: { input: 'Hello' },
  'chat/completions': { messages },
  messages: { messages },
}

async function openPriced(env: Record<string, string> = {}) {
  const stub: ProviderStub = await startStub((response) => {
    const { stream } = Object(stub.seen.at(-1)?.body) as Json
    return (stream === true ? streams(STREAMED) : answers(200, WHOLE))(response)
  })
  const models = [{ id: 'gpt', pricing: { input: 1, output: 2 } }, { id: 'nobody-knows' }]
  const provider = { id: 'openai', protocol: 'openai', baseURL: `${stub.url}/v1`, apiKey: 'sk-upstream', models }
  return { stub, portico: await openPortico({ PORTICO_CONFIG: providerConfig([provider]), ...env }) }
}

async function keyWith({ identity, operator }: Portico, terms: MessageInitShape<typeof KeyTermsSchema>) {
  const { secret, apiKey } = await identity.createApiKey({ kind: Principal_Kind.WORKSPACE, name: 'k', terms }, operator)
  return { secret, keyId: apiKey?.keyId ?? '', workspaceId: apiKey?.workspaceId ?? '' }
}

async function ask(portico: Portico, dialect: string, key: string, more: object = {}) {
  const body = { model: 'openai/gpt', ...DIALECTS[dialect], ...more }
  const answer = await send(portico, 'POST', `/api/v1/${dialect}`, body, { key })
  return { status: answer.status, text: await answer.text(), id: answer.headers.get('x-generation-id') }
}

async function read(portico: Portico, path: string, key: string): Promise<Json> {
  return (await call(portico, 'GET', `/api/v1/${path}`, undefined, { key })).json.data
}

test('a request without a maximum is sent with the output that the rest of the limit pays for, and shows its cost', async () => {
  const { stub, portico } = await openPriced()
  await using _stub = stub
  await using _ = portico
  for (const dialect of Object.keys(DIALECTS)) {
    const { secret } = await keyWith(portico, { limitNanos: 100_000n })
    for (const [stream, most] of [
      [false, 47],
      [true, 43],
    ] as const) {
      const { status, text, id } = await ask(portico, dialect, secret, { stream })
      assert.equal(status, 200, text)
      const { max_tokens, max_completion_tokens = max_tokens } = Object(stub.seen.at(-1)?.body) as Json
      assert.equal(max_completion_tokens, most, dialect)
      const shown = [...text.matchAll(/"cost":([\d.e-]+)/g)].map(([, cost]) => Number(cost))
      assert.deepEqual([...new Set(shown.slice(-1))], [COST], dialect)
      assert.equal((await read(portico, `generation?id=${id}`, secret)).total_cost, COST)
    }
    const { usage: spent, limit_remaining: left } = await read(portico, 'key', secret)
    assert.deepEqual([spent, left], [2 * COST, Number((1e-4 - 2 * COST).toFixed(9))])
  }
})

test('a key with a limit uses a model of unknown price only where the setting allows that, and it costs nothing that is known', async () => {
  for (const allowed of [false, true]) {
    const { stub, portico } = await openPriced(allowed ? { PORTICO_ALLOW_UNPRICED_MODELS: 'true' } : {})
    await using _stub = stub
    await using _ = portico
    const { secret } = await keyWith(portico, { limitNanos: 100_000n })
    for (const dialect of Object.keys(DIALECTS)) {
      const { status, text, id } = await ask(portico, dialect, secret, { model: 'openai/nobody-knows' })
      assert.equal(status, allowed ? 200 : 402, text)
      if (!allowed) continue
      const {
        total_cost: cost,
        cost_known: known,
        tokens_prompt: tokens,
      } = await read(portico, `generation?id=${id}`, secret)
      assert.deepEqual([cost, known, tokens], [0, false, 3])
    }
    assert.equal(stub.seen.length, allowed ? 3 : 0)
  }
})

test('the limit of the workspace holds for all of its keys together, and credits show it', async () => {
  const { stub, portico } = await openPriced()
  await using _stub = stub
  await using _ = portico
  await portico.identity.setWorkspaceLimit({ limitNanos: 300_000n }, portico.operator)
  const keys = [await keyWith(portico, {}), await keyWith(portico, { limitNanos: 1_000_000_000n })]
  for (const [i, dialect] of Object.keys(DIALECTS).entries()) {
    const { secret = '' } = keys[i % 2] ?? {}
    const limit = dialect === 'responses' ? 'max_output_tokens' : 'max_tokens'
    assert.equal((await ask(portico, dialect, secret, { [limit]: 50 })).status, 200)
    const calls = stub.seen.length
    const { status, text } = await ask(portico, dialect, secret, { [limit]: 500 })
    assert.equal(status, 402)
    assert.match(text, /"Insufficient credits: The limit of the workspace leaves too little: /)
    assert.equal(stub.seen.length, calls)
    const credits = await read(portico, 'credits', PORTICO_KEYS.management)
    assert.deepEqual(credits, { total_credits: 3e-4, total_usage: Number(((i + 1) * COST).toFixed(9)) })
  }
})

test('the usage of an access token counts for its target key, and is bound by its limit', async () => {
  const { stub, portico } = await openPriced()
  await using _stub = stub
  await using _ = portico
  const target = await keyWith(portico, { limitNanos: 100_000n })
  await using beside = await openBeside(join(dirname(portico.project), 'data'), systemClock)
  const minted = await beside.tokens.mint(grantAt(systemClock.now(), { target }))
  const token = minted?.token ?? assert.fail()
  for (const [i, dialect] of Object.keys(DIALECTS).entries()) {
    const { id, status, text } = await ask(portico, dialect, token)
    assert.equal(status, 200, text)
    assert.equal((await read(portico, `generation?id=${id}`, token)).api_key_id, target.keyId)
    for (const secret of [token, target.secret]) {
      assert.equal((await read(portico, 'key', secret)).usage, Number(((i + 1) * COST).toFixed(9)))
    }
    const limit = dialect === 'responses' ? 'max_output_tokens' : 'max_tokens'
    assert.equal((await ask(portico, dialect, token, { [limit]: 50 })).status, 402)
  }
})

test('a provider receives a session only as a hash, the same for each of its requests', async () => {
  const { stub, portico } = await openPriced()
  await using _stub = stub
  await using _ = portico
  for (const session_id of ['ses_private_one', 'ses_private_two']) {
    for (const dialect of Object.keys(DIALECTS)) {
      await ask(portico, dialect, PORTICO_KEYS.api, { session_id })
    }
  }
  const learned = stub.seen.map(({ body }) => (body as Json).prompt_cache_key)
  assert.deepEqual([new Set(learned.slice(0, 3)).size, new Set(learned).size, learned.length], [1, 2, 6])
  assert.match(learned[0], /^[\w-]{43}$/)
  assert.doesNotMatch(JSON.stringify(stub.seen), /ses_private/)
})

test('a request whose reasoning needs more than the rest of a limit is 402, and is sent with a higher limit', async () => {
  const answer = { content: [{ type: 'text', text: 'Hi' }], stop_reason: 'end_turn', usage: { input_tokens: 3 } }
  const stub = await startStub((response) => {
    answers(200, stub.seen.at(-1)?.path.endsWith('/messages') ? answer : WHOLE)(response)
  })
  await using _stub = stub
  const priced = { models: [{ id: 'm', pricing: { input: 1, output: 2 } }], apiKey: 'sk-upstream', baseURL: stub.url }
  const providers = [
    { id: 'anthropic', protocol: 'anthropic', ...priced },
    { id: 'openrouter', protocol: 'openai', ...priced },
  ]
  await using portico = await openPortico({ PORTICO_CONFIG: providerConfig(providers) })
  const thinking = { type: 'enabled', budget_tokens: 2_000 }
  for (const id of ['anthropic', 'openrouter']) {
    const model = `${id}/m`
    const asked = stub.seen.length
    const poor = await keyWith(portico, { limitNanos: 4_000_000n })
    const refused = await ask(portico, 'messages', poor.secret, { model, thinking })
    assert.equal(refused.status, 402, refused.text)
    assert.match(refused.text, /at most \d+ output tokens/)
    assert.equal(stub.seen.length, asked)
    const rich = await keyWith(portico, { limitNanos: 4_500_000n })
    const { status, text } = await ask(portico, 'messages', rich.secret, { model, thinking })
    assert.equal(status, 200, text)
    const { max_tokens } = Object(stub.seen.at(-1)?.body)
    assert.ok(max_tokens > 2_000 && max_tokens < 2_300, `${id} ${max_tokens}`)
  }
})
