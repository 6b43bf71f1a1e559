import assert from 'node:assert/strict'
import test from 'node:test'
import { Principal_Kind } from '#gen/portico/identity/v1/identity_pb.js'
import { call } from '#test/support/client.ts'
import { openPortico, PORTICO_KEYS, type Portico } from '#test/support/portico.ts'
import { providerConfig } from '#test/support/provider-config.ts'
import { answers, type ProviderStub, startStub } from '#test/support/provider-stub.ts'
import { openRouterClient } from '#test/support/vendor-clients.ts'

const COMPLETION = {
  ...{ id: 'c', object: 'chat.completion', created: 1, model: 'gpt-4o' },
  choices: [{ index: 0, message: { role: 'assistant', content: 'Hi' }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 },
}
/** As in the bundled list: 3 tokens at 2.5 dollars per million, 2 at 10. */
const COST = 2.75e-5

function openUnpriced({ url }: ProviderStub): Promise<Portico> {
  const models = [{ id: 'gpt-4o' }, { id: 'nobody-knows' }]
  const provider = { id: 'openai', protocol: 'openai', baseURL: `${url}/v1`, apiKey: 'sk-upstream', models }
  return openPortico({ PORTICO_CONFIG: providerConfig([provider]) })
}

async function ask(portico: Portico, key: string, model: string) {
  const body = { model, messages: [{ role: 'user', content: 'Hi' }], max_tokens: 10 }
  const { status, json } = await call(portico, 'POST', '/api/v1/chat/completions', body, { key })
  return { status, cost: json.usage?.cost as number | undefined, message: json.error?.message as string | undefined }
}

test('a model of the bundled list costs its listed price, and keys show their spending', async () => {
  await using stub = await startStub(answers(200, COMPLETION))
  await using portico = await openUnpriced(stub)
  const terms = { limitNanos: 1_000_000_000n, limitReset: 2 }
  const { identity, operator } = portico
  const { apiKey, secret } = await identity.createApiKey({ kind: Principal_Kind.WORKSPACE, name: 'a', terms }, operator)
  for (const times of [1, 2, 3]) {
    const { status, cost } = await ask(portico, secret, 'openai/gpt-4o')
    assert.deepEqual([status, cost], [200, COST])
    const { data } = await openRouterClient(portico, secret).apiKeys.getCurrentKeyMetadata()
    const spent = Number((times * COST).toFixed(9))
    assert.deepEqual([data.usage, data.usageDaily, data.usageMonthly], [spent, spent, spent])
    assert.equal(data.limitRemaining, Number((1 - spent).toFixed(9)))
  }
  const { data } = await openRouterClient(portico, PORTICO_KEYS.management).apiKeys.list()
  const found = data.find(({ hash }) => hash === apiKey?.hash)
  assert.deepEqual([found?.usage, found?.limit], [Number((3 * COST).toFixed(9)), 1])
  assert.deepEqual(
    data.filter(({ hash }) => hash !== apiKey?.hash).map(({ usage }) => usage),
    [0],
  )
})

test('a key with a limit cannot use a model of unknown price; a change of its limit takes effect at once', async () => {
  await using stub = await startStub(answers(200, COMPLETION))
  await using portico = await openUnpriced(stub)
  const { apiKeys } = openRouterClient(portico, PORTICO_KEYS.management)
  const { data, key } = await apiKeys.create({ requestBody: { name: 'a', limit: 1 } })
  const dark = await ask(portico, key, 'openai/nobody-knows')
  assert.equal(dark.status, 402)
  assert.match(dark.message ?? '', /The price of openai\/nobody-knows is unknown/)
  await apiKeys.update({ hash: data.hash, requestBody: { limit: 0 } })
  assert.equal((await ask(portico, key, 'openai/gpt-4o')).status, 402)
  assert.equal(stub.seen.length, 0)
  await apiKeys.update({ hash: data.hash, requestBody: { limit: null } })
  const unlimited = await ask(portico, key, 'openai/nobody-knows')
  assert.deepEqual([unlimited.status, unlimited.cost], [200, undefined])
})
