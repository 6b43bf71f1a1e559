// A process of its own: it takes as long as all others of the folder.
import assert from 'node:assert/strict'
import { after, suite, test } from 'node:test'
import { create } from '@bufbuild/protobuf'
import { Collection } from 'mongodb'
import { Delivery, PromptSchema } from '#gen/portico/session/v1/session_pb.js'
import { openMongoSessionStore } from '#services/session/adapters/mongo/session-store.ts'
import { recordStep } from '#services/session/domain/run.ts'
import { nothing } from '#services/session/ports/session-store.ts'
import { openMongo } from '#shared/stores/mongo.ts'
import { emptyDatabase, freshDatabaseName, mongoUri, skipWithoutMongo } from '#test/support/mongo.ts'
import { readCollections } from '#test/support/read-stores.ts'
import { type UseCases, withUseCases } from '#test/support/session-use-cases.ts'
import { stepPart } from '#test/support/step-part.ts'
import { waitFor, waitUntil } from '#test/support/wait-until.ts'
import { sessionStoreSuite } from './session-store.suite.ts'
import {
  acquire,
  admission,
  admit,
  assistant,
  begin,
  ManualClock,
  messages,
  names,
  newSession,
  plain,
  refusal,
  type StoreFixture,
  W,
} from './session-store.support.ts'
import { eventsOf, tail } from './session-store.tail.ts'

const uri = mongoUri()
const mongo = uri === undefined ? undefined : await openMongo({ uri, database: freshDatabaseName() })
after(async () => {
  await mongo?.db.dropDatabase()
  await mongo?.[Symbol.asyncDispose]()
})

const HOUR_MS = 3_600_000
/** Where the server's clock says until when something is held. */
const HELD_UNTIL = { sessions: ['leaseUntil', 'claimableAt'], hiddenSessions: ['until'] }

async function openOne(): Promise<StoreFixture> {
  assert.ok(mongo)
  await emptyDatabase(mongo)
  const clock = new ManualClock()
  const store = withUseCases(await openMongoSessionStore({ mongo, clock }))
  return {
    store,
    clock,
    contents: () => readCollections(mongo.db),
    async damage(records, id, field, text = '{') {
      await mongo.db
        .collection(records)
        .updateOne(records === 'sessions' ? { sessionId: id } : { id }, { $set: { [field]: text } })
    },
    longMs: 2 * HOUR_MS,
    shortMs: HOUR_MS,
    // The server's clock cannot be set, and real time would also pass for a slow test.
    async outlast() {
      for (const [name, fields] of Object.entries(HELD_UNTIL)) {
        for (const field of fields) {
          const earlier = { $set: { [field]: { $subtract: [`$${field}`, HOUR_MS] } } }
          await mongo.db.collection(name).updateMany({ [field]: { $gt: 0 } }, [earlier])
        }
      }
    },
    [Symbol.asyncDispose]: () => store[Symbol.asyncDispose](),
  }
}

/** Two stores on the same data, as two processes have them. */
async function open(): Promise<StoreFixture & { readonly second: UseCases }> {
  const first = await openOne()
  assert.ok(mongo)
  const second = withUseCases(await openMongoSessionStore({ mongo, clock: first.clock }))
  return {
    ...first,
    second,
    async [Symbol.asyncDispose]() {
      await first[Symbol.asyncDispose]()
      await second[Symbol.asyncDispose]()
    },
  }
}

/** The cursors of the change streams on a collection. */
async function changeStreams(collection: string): Promise<unknown[]> {
  assert.ok(mongo)
  const stages = [
    { $currentOp: { allUsers: true, idleCursors: true, localOps: true } },
    { $match: { ns: `${mongo.db.databaseName}.${collection}`, 'cursor.tailable': true } },
  ]
  const operations = mongo.client.db('admin').aggregate(stages, {
    readConcern: { level: 'local' },
    promoteLongs: false,
  })
  return (await operations.toArray()).map(({ cursor }) => cursor.cursorId)
}

/** Kills the cursors of the change streams on the events, as a server does when it loses them. */
async function dropChangeStreams(): Promise<void> {
  await mongo?.db.command({ killCursors: 'events', cursors: await changeStreams('events') })
}

sessionStoreSuite('MongoDB', openOne, { skip: skipWithoutMongo })

suite('two processes on one MongoDB', { skip: skipWithoutMongo }, () => {
  test('may open an empty database at once', async () => {
    assert.ok(uri)
    await using empty = await openMongo({ uri, database: freshDatabaseName() })
    const clock = new ManualClock()
    await Promise.all(Array.from({ length: 4 }, () => openMongoSessionStore({ mongo: empty, clock })))
    await empty.db.dropDatabase()
  })

  test('admit to one session, and nothing is lost, doubled or out of order', async () => {
    await using fixture = await open()
    const { store, second, longMs } = fixture
    await store.createSession(W, newSession())
    const ids = Array.from({ length: 24 }, (_, i) => `msg_${i}`)
    const halves = [ids.filter((_, i) => i % 2 === 0), ids.filter((_, i) => i % 2 === 1)] as const
    await Promise.all([
      ...halves[0].map((id) => store.admit(W, admission(id))),
      ...halves[1].map((id) => second.admit(W, admission(id))),
      // What both admit is one item.
      ...halves[0].map((id) => second.admit(W, admission(id))),
    ])
    const { messages: promoted } = await store.promote(await acquire(store, longMs), 'idle')
    assert.deepEqual(names(promoted).toSorted(), ids.toSorted())
    const odd = names(promoted).filter((id) => halves[1].includes(id))
    assert.deepEqual(odd, halves[1], 'what one process admits keeps its order')
    const seqs = promoted.map(({ seq }) => seq)
    assert.equal(new Set(seqs).size, ids.length)
  })

  test('create one session when both are asked for the same id at once', async () => {
    await using fixture = await open()
    const stores = [fixture.store, fixture.second]
    const made = await Promise.all(
      Array.from({ length: 10 }, (_, i) =>
        stores[i % 2]?.createSession(W, newSession('ses_1', { title: `title ${i}` })),
      ),
    )
    assert.equal(new Set(made.map((session) => session?.title)).size, 1)
  })

  test('never drain one session at once', async () => {
    await using fixture = await open()
    const { store, second, longMs } = fixture
    const ids = Array.from({ length: 10 }, (_, i) => `ses_${i}`)
    for (const id of ids) {
      await store.createSession(W, newSession(id))
      await store.admit(W, admission(`msg_${id}`, { sessionId: id }))
    }
    const leases = await Promise.all(
      Array.from({ length: 20 }, (_, i) => (i % 2 === 0 ? store : second).acquireLease(`own_${i}`, longMs)),
    )
    assert.deepEqual(leases.flatMap((lease) => lease?.sessionId ?? []).toSorted(), ids)
  })

  test('a process that slept through its lease writes nothing any more', async () => {
    await using fixture = await open()
    const { store, second, shortMs, longMs } = fixture
    const slept = await begin(fixture, shortMs)
    await store.recordStep(slept, { message: assistant('msg_step'), events: [] })
    await fixture.outlast()
    const lease = await acquire(second, longMs, 'own_2')
    assert.equal(lease.unfinished, true)
    // At once, so that the late writes race those of the new owner.
    const late = Array.from({ length: 8 }, (_, i) =>
      assert.rejects(store.recordStep(slept, { message: assistant(`msg_${i}`), events: [] }), refusal('LEASE_LOST')),
    )
    await Promise.all([second.settleAborted(lease), ...late])
    assert.deepEqual(names(await messages(second)), ['msg_first', 'msg_step'])
    const step = (await second.getMessage(W, 'ses_1', 'msg_step'))?.message
    assert.equal(step?.kind.case === 'assistant' && step.kind.value.error?.type, 'aborted')
  })

  test('a takeover in the middle of a write refuses the write or follows on it', async () => {
    await using fixture = await open()
    const { store, second, longMs } = fixture
    const lease = await begin(fixture)
    const kept: string[] = []
    const writing = (async () => {
      for (let i = 0; ; i++) {
        await store.recordStep(lease, { message: assistant(`msg_${i}`, { completeTime: 1 }), events: [] })
        kept.push(`msg_${i}`)
      }
    })()
    const refused = assert.rejects(writing, refusal('LEASE_LOST'))
    await waitFor('a few writes', () => kept.length >= 3)
    await store.releaseLease(lease)
    // A write in progress may hide the session from a claim.
    const next = await waitUntil('the takeover', () => second.acquireLease('own_2', longMs))
    const seen = names(await second.readTranscript(next, 0))
    await refused
    assert.deepEqual(seen, ['msg_first', ...kept])
  })

  test('get each other’s events and changes', async () => {
    await using fixture = await open()
    const { store, second } = fixture
    let notified = false
    using _listener = second.onChange(({ sessionId }) => {
      notified ||= sessionId === 'ses_1'
    })
    await using reader = await tail(second)
    await store.createSession(W, newSession())
    assert.deepEqual(
      (await reader.events(1)).map(({ sessionId }) => sessionId),
      ['ses_1'],
    )
    // A new listener is notified of the writes from a certain moment on.
    for (let i = 0; !notified; i++) await store.admit(W, admission(`msg_${i}`))
  })

  test('go on when the server drops their cursors', async () => {
    await using fixture = await open()
    const { store, second } = fixture
    await using reader = await tail(second)
    await store.createSession(W, newSession())
    await reader.events(1)
    await dropChangeStreams()
    await store.createSession(W, newSession('ses_2'))
    await dropChangeStreams()
    await store.createSession(W, newSession('ses_3'))
    assert.deepEqual(
      (await reader.events(2)).map(({ sessionId }) => sessionId),
      ['ses_2', 'ses_3'],
    )
  })

  test('leave no cursor open when their readers have gone', async () => {
    await using fixture = await open()
    const readers = [await tail(fixture.store), await tail(fixture.store), await tail(fixture.second)]
    await fixture.store.createSession(W, newSession())
    for (const reader of readers) await reader.events(1)
    const waiting = readers.map((reader) => reader.next())
    for (const reader of readers) reader.abort()
    for (const item of await Promise.all(waiting)) assert.equal(item.done, true)
    const streams = () => changeStreams('events')
    await waitFor('no open change stream', async () => (await streams()).length === 0, streams)
  })

  test('accept each other’s positions of events', async () => {
    await using fixture = await open()
    const { store, second } = fixture
    const [first, next] = await eventsOf(store, 2, async () => {
      await store.createSession(W, newSession())
      await admit(store, Delivery.STEER, 'msg_1')
    })
    await using reader = await tail(second, first?.position)
    assert.deepEqual(plain(await reader.events(1)), plain([next]))
    await admit(store, Delivery.STEER, 'msg_2')
    await reader.events(1)
  })

  test('read a hundred missed events with few queries, in the server’s log and in the feed', async (context) => {
    await using fixture = await open()
    const { store, second } = fixture
    await store.createSession(W, newSession())
    const ids = Array.from({ length: 120 }, (_, i) => `msg_${i}`)
    // It keeps the feed of its process open, and reads nothing.
    await using live = await tail(store)
    const [first, ...rest] = await eventsOf(second, ids.length, () => admit(store, Delivery.STEER, ...ids))
    const queries = (['find', 'findOne'] as const).map((name) => context.mock.method(Collection.prototype, name).mock)
    for (const one of [second, store]) {
      for (const mock of queries) mock.resetCalls()
      await using reader = await tail(one, first?.position)
      assert.deepEqual(plain(await reader.events(rest.length)), plain(rest))
      const count = queries.reduce((sum, mock) => sum + mock.callCount(), 0)
      assert.ok(count <= 20, `${count} queries`)
    }
    live.abort()
  })

  test('a reader in the middle of the server’s log gets nothing more of a session once that is removed', async () => {
    await using fixture = await open()
    const { store, second } = fixture
    const [first] = await eventsOf(store, 1, () => store.createSession(W, newSession('ses_0')))
    await store.createSession(W, newSession())
    await admit(store, Delivery.STEER, 'msg_1', 'msg_2')
    await store.createSession(W, newSession('ses_2'))
    await using live = await tail(second)
    await using reader = await tail(second, first?.position)
    assert.equal((await reader.events(1))[0]?.event.case, 'sessionCreated')
    await store.removeSession(W, 'ses_1')
    assert.equal((await live.events(1))[0]?.event.case, 'sessionDeleted')
    const types = (await reader.events(2)).map(({ sessionId, event }) => [sessionId, event.case])
    assert.deepEqual(types, [
      ['ses_2', 'sessionCreated'],
      ['ses_1', 'sessionDeleted'],
    ])
  })

  test('a reader of the server’s log reports events that expired in a row once', async () => {
    await using fixture = await open()
    const { store, second, clock } = fixture
    const [first] = await eventsOf(store, 1, () => store.createSession(W, newSession('ses_0')))
    for (const id of ['ses_1', 'ses_2']) await store.createSession(W, newSession(id))
    await store.selectAgent(W, 'ses_1', 'plan')
    await store.removeSession(W, 'ses_2')
    clock.advance(1_000)
    await second.expireEvents(clock.now())
    await store.createSession(W, newSession('ses_3'))
    await using reader = await tail(second, first?.position)
    const { lost } = await reader.expect('missed')
    const directory = '/project'
    const deleted = { sessionId: 'ses_2', directory, deletion: { ancestorIds: [] } }
    assert.deepEqual(plain(lost), plain([{ sessionId: 'ses_1', directory }, deleted]))
    assert.equal((await reader.events(1))[0]?.sessionId, 'ses_3')
  })

  test('an event that is written while a reader takes the notice of expired events waits for no later one', async () => {
    await using fixture = await open()
    const { store, clock } = fixture
    await store.createSession(W, newSession())
    await using reader = await tail(store)
    await using other = await tail(store)
    await store.expireEvents(clock.now() + 1)
    await store.selectAgent(W, 'ses_1', 'plan')
    await reader.expect('missed')
    clock.advance(1_000)
    await store.selectAgent(W, 'ses_1', 'build')
    await other.expect('missed')
    await other.events(1)
    assert.equal((await reader.events(1))[0]?.event.case, 'agentSelected')
  })

  test('a reader that falls behind by more than the feed keeps misses nothing', async () => {
    await using fixture = await open()
    const { store } = fixture
    await store.createSession(W, newSession())
    await using slow = await tail(store)
    const prompt = create(PromptSchema, { text: 'x'.repeat(1024 * 1024) })
    const fast = await eventsOf(store, 10, async () => {
      for (let i = 0; i < 10; i++) await store.admit(W, admission(`msg_${i}`, { prompt }))
    })
    assert.deepEqual(plain(await slow.events(10)), plain(fast))
    await store.selectAgent(W, 'ses_1', 'plan')
    assert.equal((await slow.events(1))[0]?.event.case, 'agentSelected')
  })

  test('renew a lease while many writes of the session wait', async () => {
    await using fixture = await open()
    const { store, longMs } = fixture
    const lease = await begin(fixture)
    let written = 0
    const message = assistant('msg_step', { parts: [stepPart('text', { text: 'x'.repeat(10_000) })] })
    const writes = Array.from({ length: 400 }, async () => {
      await store.revise(lease, nothing, (revision) => recordStep(revision, message, { message, events: [] }))
      written++
    })
    await store.renewLease(lease, longMs)
    assert.ok(written < writes.length / 2, `${written} writes came first`)
    await Promise.all(writes)
  })
})
