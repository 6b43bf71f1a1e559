import assert from 'node:assert/strict'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { MongoLedger } from '#services/inference/adapters/mongo/ledger.ts'
import { SqliteLedger } from '#services/inference/adapters/sqlite/ledger.ts'
import type { Ledger } from '#services/inference/ports/ledger.ts'
import { systemClock } from '#shared/clock.ts'
import { openMongo } from '#shared/stores/mongo.ts'
import { InstanceClient } from '#test/support/instance-client.ts'
import { dropDatabase, freshDatabaseName, mongoUri, skipWithoutMongo } from '#test/support/mongo.ts'
import { type Expected, layOutDatabase, layOutFolder, TITLE } from '#test/support/older-stores.ts'
import { runToEnd, scratchDirectory } from '#test/support/processes.ts'
import { startSingle, startSplit } from '#test/support/product.ts'
import { statsAgree } from '#test/support/stats-of.ts'
import { waitUntil } from '#test/support/wait-until.ts'

/** Sessions in which nothing ran or was due when their server was killed. */
const SETTLED = ['ses_tools', 'ses_plan', 'ses_failed', 'ses_retried', 'ses_parked']

describe('what an older version stored is found by the code of today', { concurrency: true }, () => {
  test('in a data folder, by the single process', async () => {
    using folder = scratchDirectory()
    const [data, project] = [join(folder.path, 'data'), join(folder.path, 'project')]
    const expected = layOutFolder('sqlite-1', data, project)
    const product = await startSingle({ dataDirectory: data, project })
    try {
      await everythingIsThere(product.url, expected)
      await eventsAreThere(product.url, expected)
      await workGoesOn(product.url)
    } finally {
      await product.stop()
    }
    const workspace = await workspaceOf({ PORTICO_DATA_DIR: data })
    await using ledger = await SqliteLedger.open(join(data, 'inference.sqlite'), systemClock)
    await usageIsThere(ledger, workspace, expected)
    const [, lost] = expected.messages.ses_running as readonly { readonly id: string }[]
    const row = await ledger.get(workspace, `${lost?.id}-1`)
    assert.deepEqual([row?.status, row?.error], ['aborted', 'PROCESS_LOST'])
  })

  test('in a database, by five processes, after the command', { skip: skipWithoutMongo }, async () => {
    using folder = scratchDirectory()
    const project = join(folder.path, 'project')
    const database = freshDatabaseName()
    const environment = { PORTICO_MONGODB_DATABASE: database }
    try {
      const expected = await layOutDatabase('mongodb-1', database, project)
      const migrate = () =>
        runToEnd('scripts/migrate.ts', [], { ...environment, PORTICO_MONGODB_URI: mongoUri() ?? '' })
      for (const { code, stderr } of await Promise.all([migrate(), migrate()]))
        assert.deepEqual([code, stderr], [0, ''])
      const product = await startSplit(mongoUri() ?? '', { dataDirectory: '', project, environment })
      try {
        await everythingIsThere(product.url, expected)
        await workGoesOn(product.url)
      } finally {
        await product.stop()
      }
      const store = { uri: mongoUri() ?? '', database }
      await using mongo = await openMongo(store)
      await using ledger = await MongoLedger.open(mongo, systemClock)
      const workspace = await workspaceOf({ ...environment, PORTICO_MONGODB_URI: store.uri })
      await usageIsThere(ledger, workspace, expected)
    } finally {
      await dropDatabase(database)
    }
  })
})

async function everythingIsThere(url: string, { keys, sessions, messages }: Expected): Promise<void> {
  const client = new InstanceClient(url)
  const { data: found } = (await client.get('/api/session?limit=200')) as { data: Expected['sessions'] }
  assert.deepEqual(found.map(({ id }) => id).sort(), sessions.map(({ id }) => id).sort())
  for (const search of [TITLE.toUpperCase(), 'straß']) {
    const { data } = (await client.get(`/api/session?search=${encodeURIComponent(search)}`)) as {
      data: { id: string }[]
    }
    assert.deepEqual(
      data.map(({ id }) => id),
      ['ses_tools'],
      search,
    )
  }
  for (const id of SETTLED) {
    const session = sessions.find((one) => one.id === id)
    assert.deepEqual(((await client.get(`/api/session/${id}`)) as { data: unknown }).data, session)
    assert.deepEqual(await client.messages(id), messages[id])
  }
  for (const [key, status] of [
    [keys.spare, 200],
    [keys.disabled, 401],
    ['sk-portico-fixture-0123456789', 200],
  ] as const) {
    const headers = { 'content-type': 'application/json', authorization: `Bearer ${key}` }
    const body = JSON.stringify({ model: 'portico/echo', input: 'Hello' })
    assert.equal((await fetch(`${url}/api/v1/responses`, { method: 'POST', headers, body })).status, status)
  }
}

async function eventsAreThere(url: string, { start = '', events = [] }: Expected): Promise<void> {
  const closing = new AbortController()
  const { body } = await fetch(`${url}/api/event`, { headers: { 'last-event-id': start }, signal: closing.signal })
  const found: unknown[] = []
  let rest = ''
  for await (const chunk of body?.pipeThrough(new TextDecoderStream()) ?? []) {
    const frames = (rest + chunk).split('\n\n')
    rest = frames.pop() ?? ''
    const data = frames.map((frame) => /^data: (.*)$/m.exec(frame)?.[1]).filter((text) => text !== undefined)
    found.push(...data.map((text) => JSON.parse(text) as { durable?: object }).filter(({ durable }) => durable))
    if (found.length >= events.length) break
  }
  assert.deepEqual(found.slice(0, events.length), events)
}

/** The workspace as the key command names it. */
async function workspaceOf(environment: Readonly<Record<string, string>>): Promise<string> {
  const { stdout, stderr } = await runToEnd('scripts/key.ts', ['list'], environment)
  return /wrk_\w+/.exec(stdout)?.[0] ?? assert.fail(stderr)
}

/** The row of each attempt of a settled step says how it ended, and has the usage of its message. */
async function usageIsThere(ledger: Ledger, workspace: string, { messages }: Expected): Promise<void> {
  const rowOf = async (id: string, attempt = 1) => {
    const row = await ledger.get(workspace, `${id}-${attempt}`)
    return [row?.sessionId, row?.origin, row?.modelId, row?.status, row?.error, row?.costNanos, row?.usage]
  }
  for (const session of ['ses_tools', 'ses_plan']) {
    const steps = ((messages[session] ?? []) as Step[]).filter(({ type }) => type === 'assistant')
    assert.ok(steps.length > 0)
    for (const { id, tokens } of steps) {
      const usage = {
        inputTokens: BigInt(tokens.input),
        outputTokens: BigInt(tokens.output + tokens.reasoning),
        cacheReadTokens: BigInt(tokens.cache.read),
        cacheWriteTokens: BigInt(tokens.cache.write),
        reasoningTokens: BigInt(tokens.reasoning),
      }
      assert.deepEqual(await rowOf(id), [session, 'session', 'echo', 'completed', '', 0n, usage])
    }
  }
  const stepOf = (session: string) =>
    ((messages[session] ?? []) as Step[]).find(({ type }) => type === 'assistant')?.id ?? ''
  const refused = await rowOf(stepOf('ses_failed'))
  assert.deepEqual(refused, ['ses_failed', 'session', 'echo', 'failed', 'PROVIDER_REFUSED', 0n, undefined])
  for (const attempt of [1, 2, 3, 4, 5]) {
    const retried = await rowOf(stepOf('ses_retried'), attempt)
    assert.deepEqual(retried.slice(0, 5), ['ses_retried', 'session', 'echo', 'failed', 'PROVIDER_UNAVAILABLE'])
  }
}

/** What the test of the ledger reads from an assistant message. */
interface Step {
  readonly id: string
  readonly type: string
  readonly tokens: {
    readonly input: number
    readonly output: number
    readonly reasoning: number
    readonly cache: { readonly read: number; readonly write: number }
  }
}

/** Running work is taken up, waiting input is delivered, parked input waits for a wake, and approvals stay. */
async function workGoesOn(url: string): Promise<void> {
  const client = new InstanceClient(url)
  await client.wait('ses_running')
  const running = await client.messages('ses_running')
  assert.deepEqual(
    running.map(({ type, error, outcome }) => [type, error?.type ?? outcome]),
    [
      ['user', undefined],
      ['assistant', 'aborted'],
      ['assistant', undefined],
      ['idle', 'succeeded'],
    ],
  )

  await client.wait('ses_waiting')
  const waiting = await client.messages('ses_waiting')
  const ids = waiting.map(({ id }) => id)
  assert.ok(ids.includes('msg_steered') && ids.indexOf('msg_queued') > ids.indexOf('msg_steered'))
  assert.ok(waiting.find(({ id }) => id === 'msg_queued')?.files?.[0]?.data)
  const aborted = waiting.flatMap(({ content = [] }) => content).find(({ state }) => state?.status === 'error')
  assert.equal(aborted?.name, 'bash')
  const requests = (await client.get('/api/session/ses_waiting/permission')) as { data: unknown[] }
  assert.deepEqual(requests.data, [])
  await client.prompt('ses_waiting', { text: '/tool bash {"command":"echo first"}' })
  await client.wait('ses_waiting')
  const last = await waitUntil('the approved command has run', async () =>
    (await client.messages('ses_waiting')).findLast(({ content }) => content?.some(({ name }) => name === 'bash')),
  )
  assert.equal(last.content?.[0]?.state?.status, 'completed')

  await client.prompt('ses_parked', { text: 'Go on.' })
  await client.wait('ses_parked')
  assert.ok((await client.messages('ses_parked')).some(({ id }) => id === 'msg_parked'))
  await statsAgree(client)
}
