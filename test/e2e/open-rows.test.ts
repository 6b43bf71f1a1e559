import assert from 'node:assert/strict'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { InferenceService } from '#gen/portico/inference/v1/inference_service_pb.js'
import { GenerationRecord_Status as Status } from '#gen/portico/inference/v1/usage_service_pb.js'
import { MongoLedger } from '#services/inference/adapters/mongo/ledger.ts'
import { systemClock } from '#shared/clock.ts'
import { createHttp2Transport } from '#shared/http2/transport.ts'
import { callOptions } from '#shared/rpc/call-context.ts'
import { createClient } from '#shared/rpc/client.ts'
import { openMongo } from '#shared/stores/mongo.ts'
import { operator, userMessage } from '#test/support/inference.ts'
import { dropDatabase, freshDatabaseName, mongoUri, skipWithoutMongo } from '#test/support/mongo.ts'
import { KEYS, scratchDirectory, startProcess } from '#test/support/processes.ts'
import { startSingle } from '#test/support/product.ts'
import { startStub } from '#test/support/provider-stub.ts'
import { waitFor, waitUntil } from '#test/support/wait-until.ts'

/** A provider that takes a request and never answers it. */
async function startSilentProvider() {
  const stub = await startStub(() => {})
  const environment = { OPENAI_API_KEY: 'sk-upstream', OPENAI_BASE_URL: `${stub.url}/v1` }
  return { stub, environment, [Symbol.asyncDispose]: () => stub[Symbol.asyncDispose]() }
}

/** Status and error of every row. */
function rowsIn(directory: string): unknown[] {
  using database = new DatabaseSync(join(directory, 'inference.sqlite'))
  return database.prepare('SELECT status, error FROM ledger').all()
}

/** How many running requests the accounts have. */
function runningIn(directory: string): unknown[] {
  using database = new DatabaseSync(join(directory, 'inference.sqlite'))
  return database
    .prepare('SELECT heldRequests, heldNanos FROM accounts')
    .all()
    .map((row) => Object.values(row))
}

test('SQLite: a row that was open when its process was killed is settled at the next start', async (t) => {
  using data = scratchDirectory()
  using project = scratchDirectory()
  await using provider = await startSilentProvider()
  const setting = { dataDirectory: data.path, project: project.path, environment: provider.environment }
  const first = await startSingle(setting)
  t.after(() => first.kill())
  const headers = { authorization: `Bearer ${KEYS.api}`, 'content-type': 'application/json' }
  const body = JSON.stringify({ model: 'openai/gpt-x', input: 'Hello' })
  const answer = fetch(`${first.url}/api/v1/responses`, { method: 'POST', headers, body }).catch(() => 'cut')
  await waitFor('the request at the provider', () => provider.stub.seen.length === 1)
  await first.kill()
  assert.equal(await answer, 'cut')
  const row = (status: Status, error: string | null) => Object.assign(Object.create(null), { status, error })
  assert.deepEqual(rowsIn(data.path), [row(Status.OPEN, null)])
  assert.deepEqual(runningIn(data.path), [
    [1, 0],
    [1, 0],
  ])
  const second = await startSingle(setting)
  assert.equal(await second.stop(), 0)
  assert.deepEqual(rowsIn(data.path), [row(Status.ABORTED, 'PROCESS_LOST')])
  assert.deepEqual(runningIn(data.path), [
    [0, 0],
    [0, 0],
  ])
})

test('MongoDB: a row that was open when its process was killed is settled by another process', {
  skip: skipWithoutMongo,
}, async (t) => {
  const database = freshDatabaseName()
  t.after(() => dropDatabase(database))
  await using provider = await startSilentProvider()
  const secret = 'secret-of-the-open-rows'
  const process = await startProcess('services/inference/main.ts', {
    ...{ PORTICO_MONGODB_URI: mongoUri() ?? '', PORTICO_MONGODB_DATABASE: database, PORTICO_SERVICE_PORT: '0' },
    ...{ PORTICO_INTERNAL_SECRET: secret, PORTICO_IDENTITY_URL: 'http://127.0.0.1:9', ...provider.environment },
  })
  t.after(() => process.kill())
  await using transport = createHttp2Transport({ url: process.url, secret })
  const client = createClient(InferenceService, transport)
  const generation = { requestId: 'req_1', model: 'openai/gpt-x', messages: [userMessage('Hello')] }
  const answer = client.generate({ generation }, callOptions({ principal: operator })).catch(() => 'cut')
  await waitFor('the request at the provider', () => provider.stub.seen.length === 1)
  await process.kill()
  assert.equal(await answer, 'cut')
  await using mongo = await openMongo({ uri: mongoUri() ?? '', database })
  await using ledger = await MongoLedger.open(mongo, systemClock)
  assert.equal((await ledger.get('wrk_1', 'req_1'))?.status, Status.OPEN)
  const row = await waitUntil('the row is settled', async () => {
    await ledger.settle()
    const row = await ledger.get('wrk_1', 'req_1')
    return row?.status === Status.OPEN ? undefined : row
  })
  assert.deepEqual([row.status, row.error, row.usage?.estimated], [Status.ABORTED, 'PROCESS_LOST', true])
  const [account] = await ledger.accounts('wrk_1', [operator.apiKeyId])
  assert.deepEqual([account?.heldRequests, account?.heldNanos], [0, 0n])
})
