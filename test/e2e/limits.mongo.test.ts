import assert from 'node:assert/strict'
import { test } from 'node:test'
import { InferenceService } from '#gen/portico/inference/v1/inference_service_pb.js'
import { UsageService } from '#gen/portico/inference/v1/usage_service_pb.js'
import { MongoLedger } from '#services/inference/adapters/mongo/ledger.ts'
import { systemClock } from '#shared/clock.ts'
import { createHttp2Transport } from '#shared/http2/transport.ts'
import { reasonOf } from '#shared/reasons.ts'
import { callOptions, type Principal } from '#shared/rpc/call-context.ts'
import { createClient } from '#shared/rpc/client.ts'
import { openMongo } from '#shared/stores/mongo.ts'
import { userMessage } from '#test/support/inference.ts'
import { dropDatabase, freshDatabaseName, mongoUri, skipWithoutMongo } from '#test/support/mongo.ts'
import { startProcess } from '#test/support/processes.ts'
import { providerConfig } from '#test/support/provider-config.ts'
import { answers, startStub } from '#test/support/provider-stub.ts'
import { waitFor } from '#test/support/wait-until.ts'

const SECRET = 'secret-of-the-limits'
const principal: Principal = { organizationId: 'org_1', workspaceId: 'wrk_1', apiKeyId: 'key_1', kind: 'workspace' }
const options = callOptions({ principal, authenticated: true })
const COMPLETION = {
  ...{ id: 'c', object: 'chat.completion', created: 1, model: 'gpt' },
  choices: [{ index: 0, message: { role: 'assistant', content: 'Hi' }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 },
}
const COST_NANOS = 7_000n

/** A provider that holds its requests until it is released. */
async function startHolding() {
  const held: (() => void)[] = []
  const stub = await startStub(async (response) => {
    await new Promise<void>((resolve) => held.push(resolve))
    answers(200, COMPLETION)(response)
  })
  const models = [{ id: 'gpt', pricing: { input: 1, output: 2 } }]
  const provider = { id: 'priced', protocol: 'openai', baseURL: `${stub.url}/v1`, apiKey: 'sk-upstream', models }
  const release = (): void => {
    for (const resolve of held.splice(0)) resolve()
  }
  return { stub, config: providerConfig([provider]), release }
}

async function startInference(database: string, config: string) {
  const process = await startProcess('services/inference/main.ts', {
    ...{ PORTICO_MONGODB_URI: mongoUri() ?? '', PORTICO_MONGODB_DATABASE: database, PORTICO_SERVICE_PORT: '0' },
    ...{ PORTICO_INTERNAL_SECRET: SECRET, PORTICO_IDENTITY_URL: 'http://127.0.0.1:9', PORTICO_CONFIG: config },
  })
  const transport = createHttp2Transport({ url: process.url, secret: SECRET })
  return {
    process,
    transport,
    inference: createClient(InferenceService, transport),
    usage: createClient(UsageService, transport),
  }
}

test('MongoDB: two processes admit only what a limit pays for, also when one is killed, and free what the dead one reserved', {
  skip: skipWithoutMongo,
}, async (t) => {
  const database = freshDatabaseName()
  t.after(() => dropDatabase(database))
  const { stub, config, release } = await startHolding()
  await using _ = stub
  const [a, b] = await Promise.all([startInference(database, config), startInference(database, config)])
  t.after(() => Promise.all([a.process.kill(), b.process.kill()]))
  let requests = 0
  const ask = async ({ inference }: typeof a, limitNanos: bigint) => {
    const generation = {
      requestId: `req_${++requests}`,
      model: 'priced/gpt',
      messages: [userMessage('Hello')],
      maxOutputTokens: 10,
    }
    try {
      await inference.generate({ generation, terms: { limitNanos } }, options)
      return 'answered'
    } catch (error) {
      return reasonOf(error)?.reason ?? 'cut'
    }
  }
  // 12 + 5 bytes of a message are 6 tokens, and there are 10 of output, at 1 and 2 US dollars per million.
  const limit = 50n * 26_000n
  const refused: string[] = []
  const send = (to: typeof a, count: number) =>
    Promise.all(
      Array.from({ length: count }, async () => {
        const outcome = await ask(to, limit)
        if (outcome !== 'answered' && outcome !== 'cut') refused.push(outcome)
        return outcome
      }),
    )
  const throughA = send(a, 100)
  const throughB = send(b, 100)
  await waitFor('all are decided', () => refused.length + stub.seen.length === 200)
  assert.deepEqual([stub.seen.length, new Set(refused)], [50, new Set(['CREDIT_INSUFFICIENT'])])

  await a.process.kill()
  const cut = (await throughA).filter((outcome) => outcome === 'cut').length
  assert.deepEqual(new Set(await send(b, 5)), new Set(['CREDIT_INSUFFICIENT']))
  assert.equal(stub.seen.length, 50)
  const held = async (): Promise<bigint | undefined> => {
    const { keys } = await b.usage.getKeyUsage({ keyIds: ['key_1'] }, options)
    return keys[0]?.spending?.reservedNanos
  }
  await waitFor('what the dead one held is free', async () => (await held()) === BigInt(50 - cut) * 26_000n)

  release()
  const answered = (await throughB).filter((outcome) => outcome === 'answered').length
  assert.equal(answered + cut, 50)
  await waitFor('nothing is held', async () => (await held()) === 0n)
  // What the clients of the dead process may have received is estimated: the input, and no output, since it noted none.
  const spent = BigInt(answered) * COST_NANOS + BigInt(cut) * 6_000n
  const { keys } = await b.usage.getKeyUsage({ keyIds: ['key_1'] }, options)
  assert.equal(keys[0]?.spending?.totalNanos, spent)
  const { activities } = await b.usage.listActivity({}, options)
  assert.deepEqual([activities[0]?.requestCount, activities[0]?.costNanos], [50, spent])
  await using mongo = await openMongo({ uri: mongoUri() ?? '', database })
  await using ledger = await MongoLedger.open(mongo, systemClock)
  const rows = await Promise.all(Array.from({ length: requests }, (_, i) => ledger.get('wrk_1', `req_${i + 1}`)))
  const lost = rows.filter((row) => row?.error === 'PROCESS_LOST')
  assert.deepEqual([lost.length, lost.every((row) => row?.usage?.estimated)], [cut, true])
})

test('MongoDB: the row and the cost of an answer of one process are visible in another at once', {
  skip: skipWithoutMongo,
}, async (t) => {
  const database = freshDatabaseName()
  t.after(() => dropDatabase(database))
  await using stub = await startStub(answers(200, COMPLETION))
  const models = [{ id: 'gpt', pricing: { input: 1, output: 2 } }]
  const provider = { id: 'priced', protocol: 'openai', baseURL: `${stub.url}/v1`, apiKey: 'sk-upstream', models }
  const config = providerConfig([provider])
  const [a, b] = await Promise.all([startInference(database, config), startInference(database, config)])
  t.after(() => Promise.all([a.process.kill(), b.process.kill()]))
  for (let i = 1; i <= 20; i++) {
    const [asked, read] = i % 2 === 0 ? [a, b] : [b, a]
    const generation = { requestId: `req_${i}`, model: 'priced/gpt', messages: [userMessage('Hello')] }
    await asked.inference.generate({ generation, terms: {} }, options)
    const [found, { keys }, { spending }] = await Promise.all([
      read.usage.getGeneration({ requestId: `req_${i}` }, options),
      read.usage.getKeyUsage({ keyIds: ['key_1'] }, options),
      read.usage.getWorkspaceUsage({}, options),
    ])
    assert.equal(found.generation?.costNanos, COST_NANOS)
    const sum = BigInt(i) * COST_NANOS
    assert.deepEqual([keys[0]?.spending?.totalNanos, spending?.totalNanos], [sum, sum])
  }
  // Nor does an answered request stand in the way of the next one.
  for (let i = 21; i <= 40; i++) {
    const generation = { requestId: `req_${i}`, model: 'priced/gpt', messages: [userMessage('Hello')] }
    await (i % 4 < 2 ? a : b).inference.generate({ generation, terms: { concurrentRequests: 1 } }, options)
  }
})
