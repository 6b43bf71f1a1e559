import assert from 'node:assert/strict'
import { after, suite, test } from 'node:test'
import { Outcome, PermissionReply } from '#gen/portico/session/v1/session_pb.js'
import type { Config } from '#services/session/config.ts'
import { openMongo } from '#shared/stores/mongo.ts'
import { freshDatabaseName, mongoUri, skipWithoutMongo } from '#test/support/mongo.ts'
import { type Peers, scriptedPeers } from '#test/support/session-peers.ts'
import { asKey, eventsUntil, openSessionService, type SessionFixture } from '#test/support/session-service.ts'
import { calls, hangs, text } from '#test/support/session-turns.ts'
import { waitFor } from '#test/support/wait-until.ts'

/** A session whose record is being written when its lease is asked for is left to the next look. */
const POLL_MS = 500

const uri = mongoUri() ?? ''
const databases: string[] = []

after(async () => {
  if (databases.length === 0) return
  for (const database of databases) {
    await using mongo = await openMongo({ uri, database })
    await mongo.db.dropDatabase()
  }
})

function freshStore() {
  const database = freshDatabaseName()
  databases.push(database)
  return { kind: 'mongodb', uri, database } as const
}

/** Two session services on one database, with the same peers. */
async function openTwo(
  peers: Peers,
  options: Partial<Config> = {},
): Promise<readonly [SessionFixture, SessionFixture, AsyncDisposable]> {
  const store = freshStore()
  await using opening = new AsyncDisposableStack()
  const one = opening.use(await openSessionService({ pollMs: POLL_MS, ...options, peers, store }))
  const two = opening.use(await openSessionService({ pollMs: POLL_MS, ...options, peers, store }))
  return [one, two, opening.move()]
}

/** The next turn hangs; resolves when it is asked for, by whichever service. */
function hangsNext(peers: ReturnType<typeof scriptedPeers>): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  peers.turns.push(async function* (request, signal) {
    resolve()
    yield* hangs()(request, signal)
  })
  return promise
}

suite('two session services on one MongoDB', { skip: skipWithoutMongo }, () => {
  test('run every session once, whichever of them admitted the prompt', async () => {
    const peers = scriptedPeers()
    const [one, two, both] = await openTwo(peers)
    await using _ = both
    const ids = Array.from({ length: 12 }, (_, i) => `ses_${i}`)
    for (const id of ids) await one.create(id)
    const prompts = ids.map((sessionId, i) =>
      (i % 2 === 0 ? one : two).prompt('Hi', { sessionId, messageId: `msg_of_${sessionId}` }),
    )
    await Promise.all(prompts)
    for (const id of ids) await two.wait(id)
    for (const id of ids) {
      const order = (await one.messages(id)).map(({ kind }) => kind.case)
      assert.deepEqual(order, ['user', 'assistant', 'idle'])
    }
    assert.equal(peers.requests.length, ids.length)
  })

  test('a service whose slots are taken leaves due sessions to the other service', async () => {
    const peers = scriptedPeers()
    const [one, two, both] = await openTwo(peers, { maxRuns: 1 })
    await using _ = both
    const begun = hangsNext(peers)
    await one.create('ses_busy')
    await one.prompt('Hi', { sessionId: 'ses_busy', messageId: 'msg_busy' })
    await begun
    const ids = Array.from({ length: 6 }, (_, i) => `ses_${i}`)
    for (const id of ids) await one.create(id)
    await Promise.all(ids.map((sessionId) => one.prompt('Hi', { sessionId, messageId: `msg_of_${sessionId}` })))
    for (const id of ids) {
      await two.wait(id)
      assert.equal(await two.outcome(id), Outcome.SUCCEEDED)
    }
    assert.deepEqual((await one.client.listActiveSessions({}, asKey)).sessionIds, ['ses_busy'])
  })

  test('an interrupt that the other service receives reaches the owner, and the next prompt is run', async () => {
    const peers = scriptedPeers()
    const [one, two, both] = await openTwo(peers)
    await using _ = both
    await one.create()
    const begun = hangsNext(peers)
    await one.prompt('Hi')
    await begun
    for (const service of [one, two]) {
      assert.deepEqual((await service.client.listActiveSessions({}, asKey)).sessionIds, ['ses_1'])
    }
    await two.client.interruptSession({ sessionId: 'ses_1' }, asKey)
    await one.client.interruptSession({ sessionId: 'ses_1' }, asKey)
    await two.wait()
    assert.equal(await one.outcome(), Outcome.INTERRUPTED)
    await two.prompt('Again', { messageId: 'msg_again' })
    await two.wait()
    assert.equal(await one.outcome(), Outcome.SUCCEEDED)
  })

  test('permission given through the other service reaches the owner, and events reach both', async () => {
    const peers = scriptedPeers()
    const [one, two, both] = await openTwo(peers)
    await using _ = both
    await one.create()
    peers.rules.push({ action: 'look', resource: '*', effect: 3 })
    peers.turns.push(calls({ id: 'a', name: 'look' }), text('Seen'))
    const streams = await Promise.all(
      [one, two].flatMap((service) => [
        eventsUntil(service.client, 'permissionAsked'),
        eventsUntil(service.client, 'executionEnded'),
      ]),
    )
    await one.prompt('Look')
    const asked = await Promise.all([0, 2].map(async (index) => (await streams[index]?.events)?.at(-1)?.event))
    const [requestId = '', same] = asked.map((event) =>
      event?.case === 'permissionAsked' ? event.value.request?.requestId : undefined,
    )
    assert.equal(same, requestId)
    // One of the two owns the session; to the other one nothing has to be said.
    const answer = { sessionId: 'ses_1', requestId, reply: PermissionReply.ONCE }
    await two.client.replyPermissionRequest(answer, asKey)
    await one.wait()
    for (const index of [1, 3]) {
      const durable = (await streams[index]?.events)
        ?.filter(({ seq }) => seq !== undefined)
        .map(({ event }) => event.case)
      assert.deepEqual(durable?.slice(-4), ['partEnded', 'stepStreamed', 'stepEnded', 'executionEnded'])
    }
    assert.equal((await one.calls())[0]?.state, 3)
    assert.equal(peers.started.length, 1)
  })

  test('a reload that either service receives rejects what waits in both, and the runs go on', async () => {
    const peers = scriptedPeers()
    const [one, two, both] = await openTwo(peers)
    await using _ = both
    peers.rules.push({ action: 'look', resource: '*', effect: 3 })
    const ids = ['ses_1', 'ses_2', 'ses_3', 'ses_4']
    for (const id of ids) await one.create(id)
    peers.turns.push(...ids.map((id) => calls({ id, name: 'look' })))
    const prompts = ids.map((sessionId, i) =>
      (i % 2 === 0 ? one : two).prompt('Look', { sessionId, messageId: `msg_of_${sessionId}` }),
    )
    await Promise.all(prompts)
    const waiting = async ({ client }: SessionFixture) =>
      (await client.listPermissionRequests({}, asKey)).requests.length
    await waitFor('all to ask', async () => (await waiting(one)) === ids.length)
    await two.client.reloadLocations({}, asKey)
    assert.deepEqual([await waiting(one), await waiting(two)], [0, 0])
    for (const id of ids) {
      await two.wait(id)
      assert.equal(await one.outcome(id), Outcome.SUCCEEDED)
    }
    assert.deepEqual([peers.started, peers.requests.length], [[], 2 * ids.length])
  })

  test('without automatic resumption, a run that one service gives up at its shutdown is ended as interrupted by the other', async () => {
    const peers = scriptedPeers()
    const options = { pollMs: POLL_MS, peers, store: freshStore(), autoResume: false }
    const begun = hangsNext(peers)
    await using one = await openSessionService(options)
    await one.create()
    await one.prompt('Hi')
    await begun
    await one.prompt('Next', { delivery: 2 })
    await using two = await openSessionService(options)
    await one[Symbol.asyncDispose]()
    await two.wait()
    assert.equal(await two.outcome(), Outcome.INTERRUPTED)
    const inbox = async () => (await two.client.listInboxItems({ sessionId: 'ses_1' }, asKey)).items
    assert.deepEqual(
      (await inbox()).map(({ messageId }) => messageId),
      ['msg_2'],
    )
    assert.equal(peers.requests.length, 1)
    await two.client.resumeSession({ sessionId: 'ses_1' }, asKey)
    await two.wait()
    assert.deepEqual(await inbox(), [])
    const ends = (await two.messages()).flatMap(({ kind }) => (kind.case === 'idle' ? [kind.value.outcome] : []))
    assert.deepEqual(ends, [Outcome.INTERRUPTED, Outcome.SUCCEEDED, Outcome.SUCCEEDED])
  })

  test('a run that one service gives up at its shutdown is continued by the other', async () => {
    const peers = scriptedPeers()
    const store = freshStore()
    const begun = Promise.withResolvers<void>()
    peers.turns.push(async function* (request, signal) {
      begun.resolve()
      yield* hangs()(request, signal)
    })
    await using one = await openSessionService({ pollMs: POLL_MS, peers, store })
    await one.create()
    await one.prompt('Hi')
    await begun.promise
    await using two = await openSessionService({ pollMs: POLL_MS, peers, store })
    await one[Symbol.asyncDispose]()
    await two.wait()
    const seen = (await two.steps()).map(({ error, finish }) => [error?.type, finish])
    assert.deepEqual(seen, [
      ['aborted', 'error'],
      [undefined, 'stop'],
    ])
    assert.equal(await two.outcome(), Outcome.SUCCEEDED)
  })
})
