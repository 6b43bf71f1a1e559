import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, beforeEach, describe, test } from 'node:test'
import { Outcome } from '#gen/portico/session/v1/session_pb.js'
import { openMongoSessionStore } from '#services/session/adapters/mongo/session-store.ts'
import { systemClock } from '#shared/clock.ts'
import { type Mongo, openMongo } from '#shared/stores/mongo.ts'
import { InstanceClient, type WireMessage } from '#test/support/instance-client.ts'
import { freshDatabaseName, mongoUri, skipWithoutMongo } from '#test/support/mongo.ts'
import { noneAlive, scratchDirectory } from '#test/support/processes.ts'
import { type Replicas, type Side, startReplicas } from '#test/support/product.ts'
import { readCollections } from '#test/support/read-stores.ts'
import { withUseCases } from '#test/support/session-use-cases.ts'
import { waitFor, waitUntil } from '#test/support/wait-until.ts'

const LEASE_SECONDS = 3

/** The lease of a session as the store holds it. */
interface LeaseRecord {
  readonly workspace: string
  readonly sessionId: string
  readonly leaseOwner: string | null
  readonly leaseUntil: number
  readonly fence: number
}

describe('two session services on one MongoDB', { skip: skipWithoutMongo }, () => {
  const project = scratchDirectory()
  const database = freshDatabaseName()
  let product: Replicas
  let mongo: Mongo
  let a: Side
  let b: Side
  let throughA: InstanceClient
  let throughB: InstanceClient
  let calls: string
  let sessions = 0

  before(async () => {
    mongo = await openMongo({ uri: mongoUri() ?? '', database })
    const environment = {
      PORTICO_MONGODB_DATABASE: database,
      PORTICO_SESSION_LEASE_SECONDS: String(LEASE_SECONDS),
      PORTICO_DRAIN_SECONDS: '2',
    }
    product = await startReplicas(mongoUri() ?? '', { dataDirectory: '', project: project.path, environment }, 2)
    ;[a, b] = product.sides as [Side, Side]
    throughA = new InstanceClient(a.gateway.url)
    throughB = new InstanceClient(b.gateway.url)
  })
  beforeEach(() => {
    calls = join(project.path, `calls-${sessions}`)
  })
  after(async () => {
    await product?.kill()
    await mongo?.db.dropDatabase()
    await mongo?.[Symbol.asyncDispose]()
    project[Symbol.dispose]()
  })

  test('an owner that was paused in a tool call writes nothing more, and the call is aborted, not repeated', async () => {
    const marker = `41${Date.now() % 1e8}`
    const command = `echo started >> ${calls}; sleep ${marker}`
    const sessionId = await runInA(`/slow 100\n/tool bash ${JSON.stringify({ command })}`)
    await waitFor('the tool call to start', () => startedCalls() === 1)
    const before = await takenOverWhileAIsPaused(sessionId)
    await Promise.all([throughA.wait(sessionId), throughB.wait(sessionId)])
    const messages = await throughA.messages(sessionId)
    assert.deepEqual(typesOf(messages), ['user', 'assistant aborted', 'assistant', 'idle succeeded'])
    const [call] = toolsOf(messages)
    assert.deepEqual([call?.state?.status, call?.state?.error?.type], ['error', 'aborted'])
    assert.equal(startedCalls(), 1)
    await noneAlive(marker)
    await assertFenced(before, messages)
  })

  test('an owner that was paused in the middle of an answer writes nothing more', async () => {
    const sessionId = await runInA('/slow 60\n/length 60')
    await waitFor('the answer to begin', async () => (await throughB.messages(sessionId)).length === 2)
    const before = await takenOverWhileAIsPaused(sessionId)
    await Promise.all([throughA.wait(sessionId), throughB.wait(sessionId)])
    const messages = await throughB.messages(sessionId)
    assert.deepEqual(typesOf(messages), ['user', 'assistant aborted', 'assistant', 'idle succeeded'])
    assert.equal(messages[2]?.content?.find(({ type }) => type === 'text')?.text?.split(/\s+/).length, 60)
    await assertFenced(before, messages)
  })

  test('an owner that was paused while it waits for a permission requests nothing more; the other one goes on', async () => {
    const permissions = [{ action: 'bash', resource: '*', effect: 'ask' }]
    const command = `echo started >> ${calls}`
    const sessionId = await runInA(`/slow 100\n/tool bash ${JSON.stringify({ command })}`, { permissions })
    await waitUntil('the question', async () => (await questions(throughB, sessionId))[0])
    const before = await takenOverWhileAIsPaused(sessionId)
    await throughB.wait(sessionId)
    assert.deepEqual(await questions(throughA, sessionId), [])
    const messages = await throughB.messages(sessionId)
    assert.deepEqual(typesOf(messages), ['user', 'assistant aborted', 'assistant', 'idle succeeded'])
    assert.equal(startedCalls(), 0)
    await assertFenced(before, messages)
  })

  test('an interrupt given through one service reaches the owner in the other', async () => {
    const sessionId = await runInA('/slow 1000\n/length 60')
    await waitFor('the answer to begin', async () => (await throughB.messages(sessionId)).length === 2)
    assert.deepEqual(await throughB.post(`/api/session/${sessionId}/interrupt`, undefined), { interrupted: true })
    await throughB.wait(sessionId)
    assert.deepEqual(typesOf(await throughA.messages(sessionId)), ['user', 'assistant aborted', 'idle interrupted'])
  })

  test('a session that is removed through one service stops in the other, with its tools, and nothing of it stays', async () => {
    const marker = `43${Date.now() % 1e8}`
    const command = `echo started >> ${calls}; sleep ${marker}`
    const sessionId = await runInA(`/tool bash ${JSON.stringify({ command })}`)
    await waitFor('the tool call to start', () => startedCalls() === 1)
    const answer = await fetch(`${b.gateway.url}/api/session/${sessionId}`, { method: 'DELETE' })
    assert.equal(answer.status, 204)
    for (const { gateway } of [a, b]) assert.equal((await fetch(`${gateway.url}/api/session/${sessionId}`)).status, 404)
    await noneAlive(marker)
    await waitFor('A to notice', () =>
      a.session.process().output().includes(`"sessionId":"${sessionId}","msg":"A session was lost`),
    )
    const left = async (): Promise<string[]> => {
      const found = Object.entries(await readCollections(mongo.db))
      // The ledger keeps the usage.
      const own = found.filter(([name]) => !['inference_ledger'].includes(name))
      return own.flatMap(([name, rows]) =>
        rows.flatMap((row) => (JSON.stringify(row).includes(sessionId) ? [name] : [])),
      )
    }
    await waitFor('the rest to be deleted', async () => (await left()).join() === 'events')
  })

  test('a permission reply given through one service reaches the owner in the other', async () => {
    const permissions = [{ action: 'bash', resource: '*', effect: 'ask' }]
    const command = `echo started >> ${calls}`
    const sessionId = await runInA(`/tool bash ${JSON.stringify({ command })}`, { permissions })
    const { id } = await waitUntil('the question', async () => (await questions(throughB, sessionId))[0])
    await throughB.post(`/api/session/${sessionId}/permission/${id}/reply`, { reply: 'once' })
    await throughB.wait(sessionId)
    const messages = await throughB.messages(sessionId)
    assert.deepEqual(typesOf(messages), ['user', 'assistant', 'assistant', 'idle succeeded'])
    assert.equal(startedCalls(), 1)
  })

  test('a prompt that was admitted through a stopped service is finished by the other', async () => {
    const sessionId = await runInA('/slow 60\n/length 60')
    await waitFor('the run to begin', async () => (await throughA.messages(sessionId)).length > 1)
    await throughA.prompt(sessionId, { text: '/length 3', delivery: 'queue' })
    assert.equal(await a.session.process().stop(), 0)
    await throughB.wait(sessionId)
    const messages = await throughB.messages(sessionId)
    const types = typesOf(messages).filter((type) => type !== 'assistant aborted')
    assert.deepEqual(types, ['user', 'assistant', 'idle succeeded', 'user', 'assistant', 'idle succeeded'])
    await a.session.restart()
    assert.deepEqual(await throughA.messages(sessionId), messages)
  })

  test('a run of a killed service is finished by the other', async () => {
    const marker = `42${Date.now() % 1e8}`
    const command = `echo started >> ${calls}; sleep ${marker}`
    const sessionId = await runInA(`/tool bash ${JSON.stringify({ command })}`)
    await waitFor('the tool call to start', () => startedCalls() === 1)
    await a.session.process().kill()
    await throughB.wait(sessionId)
    const messages = await throughB.messages(sessionId)
    assert.deepEqual(typesOf(messages), ['user', 'assistant aborted', 'assistant', 'idle succeeded'])
    assert.equal(toolsOf(messages)[0]?.state?.error?.type, 'aborted')
    assert.equal(startedCalls(), 1)
    await noneAlive(marker)
    await a.session.restart()
  })

  /** Runs a prompt in A: B is paused until A has the lease. */
  async function runInA(text: string, session: Record<string, unknown> = {}): Promise<string> {
    const sessionId = await throughA.createSession({ id: `ses_fencing${sessions++}`, ...session })
    b.session.process().pause()
    try {
      await throughA.prompt(sessionId, { text })
      await waitFor('A to take the session', async () => (await leaseOf(sessionId)).leaseOwner !== null)
    } finally {
      b.session.process().resume()
    }
    return sessionId
  }

  /** Pauses A until B has the session, and resumes it while B is at work. They never both hold it. */
  async function takenOverWhileAIsPaused(sessionId: string): Promise<LeaseRecord> {
    a.session.process().pause()
    try {
      const before = await leaseOf(sessionId)
      const after = await waitUntil('B to take the session', async () => {
        const lease = await leaseOf(sessionId)
        return lease.fence > before.fence ? lease : undefined
      })
      assert.notEqual(after.leaseOwner, before.leaseOwner)
      const taken = after.leaseUntil - LEASE_SECONDS * 1_000
      assert.ok(taken >= before.leaseUntil, 'B was given the session before the lease of A had run out')
      return before
    } finally {
      a.session.process().resume()
    }
  }

  /** A's lease is void, A has noticed, and B is done with the session. */
  async function assertFenced(before: LeaseRecord, messages: readonly WireMessage[]): Promise<void> {
    const { workspace, sessionId, fence } = before
    await waitFor('A to notice', () =>
      a.session.process().output().includes(`"sessionId":"${sessionId}","msg":"A session was lost`),
    )
    await using port = await openMongoSessionStore({ mongo, clock: systemClock })
    const store = withUseCases(port)
    const late = { workspace, sessionId, fence }
    await assert.rejects(store.endRun(late, Outcome.FAILED), { reason: 'LEASE_LOST' })
    await assert.rejects(store.promote(late, 'step'), { reason: 'LEASE_LOST' })
    await assert.rejects(store.renewLease(late, 60_000), { reason: 'LEASE_LOST' })
    const after = await leaseOf(sessionId)
    assert.equal(after.fence, fence + 1, 'the session was drained once more')
    assert.ok(after.leaseUntil <= (await serverNow()), 'the lease was not given back')
    assert.deepEqual(await throughB.get('/api/session/active'), { data: {} })
    assert.deepEqual(await throughB.messages(sessionId), messages)
  }

  async function leaseOf(sessionId: string): Promise<LeaseRecord> {
    const lease = await mongo.db.collection<LeaseRecord>('sessions').findOne({ sessionId })
    assert.ok(lease !== null)
    return lease
  }

  async function serverNow(): Promise<number> {
    return ((await mongo.db.command({ hello: 1 })).localTime as Date).getTime()
  }

  function startedCalls(): number {
    return existsSync(calls) ? readFileSync(calls, 'utf8').trim().split('\n').length : 0
  }
})

async function questions(client: InstanceClient, sessionId: string): Promise<readonly { readonly id: string }[]> {
  return ((await client.get(`/api/session/${sessionId}/permission`)) as { data: { id: string }[] }).data
}

/** What each message is, and how it ended if that was unusual. */
function typesOf(messages: readonly WireMessage[]): string[] {
  return messages.map(({ type, outcome, error }) => [type, outcome, error?.type].filter(Boolean).join(' '))
}

function toolsOf(messages: readonly WireMessage[]) {
  return messages.flatMap(({ content = [] }) => content).filter(({ type }) => type === 'tool')
}
