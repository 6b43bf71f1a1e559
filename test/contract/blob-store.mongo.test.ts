import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { Order } from '#gen/portico/session/v1/session_service_pb.js'
import { openMongoBlobStore } from '#services/session/adapters/mongo/blob-store.ts'
import { openMongoSessionStore } from '#services/session/adapters/mongo/session-store.ts'
import { systemClock } from '#shared/clock.ts'
import { type Mongo, openMongo } from '#shared/stores/mongo.ts'
import { emptyDatabase, freshDatabaseName, mongoUri, skipWithoutMongo } from '#test/support/mongo.ts'
import { withUseCases } from '#test/support/session-use-cases.ts'
import { blobStoreSuite } from './blob-store.suite.ts'
import { type BlobFixture, newHold, promptWith, sweepAll, W } from './blob-store.support.ts'
import { finishRemovals } from './session-store.removal.ts'
import { acquire, newSession } from './session-store.support.ts'

const uri = mongoUri()
const mongo = uri === undefined ? undefined : await openMongo({ uri, database: freshDatabaseName() })
after(async () => {
  await mongo?.db.dropDatabase()
  await mongo?.[Symbol.asyncDispose]()
})

async function open(): Promise<BlobFixture> {
  assert.ok(mongo)
  await emptyDatabase(mongo)
  const sessions = await openMongoSessionStore({ mongo, clock: systemClock })
  return {
    store: openMongoBlobStore({ mongo }),
    sessions: withUseCases(sessions),
    reopen: async () => openMongoBlobStore({ mongo }),
    [Symbol.asyncDispose]: () => sessions[Symbol.asyncDispose](),
  }
}

blobStoreSuite('MongoDB', open, { skip: skipWithoutMongo })

test('content that a fork is about to use is not deleted with its source', { skip: skipWithoutMongo }, async () => {
  await using fixture = await open()
  const { store, sessions } = fixture
  await sessions.createSession(W, newSession())
  const hash = await promptWith(fixture, 'ses_1', 'msg_1', Buffer.from('content'))
  await sessions.promote(await acquire(sessions, 60_000), 'idle')
  const gate = Promise.withResolvers<void>()
  const written = Promise.withResolvers<void>()
  const slow: Pick<Mongo, 'transact'> = {
    transact: (work, limitMs) =>
      (mongo as Mongo).transact(async (session) => {
        const answer = await work(session)
        written.resolve()
        await gate.promise
        return answer
      }, limitMs),
  }
  const source = await sessions.listMessages(W, 'ses_1', { limit: 1, order: Order.ASCENDING })
  const staged = await sessions.stageSession(W, 'ses_2', 'fork', {
    sessionId: 'ses_1',
    incarnation: source?.incarnation ?? '',
  })
  await using other = await openMongoSessionStore({
    mongo: Object.assign(Object.create(mongo as Mongo), slow),
    clock: systemClock,
  })
  const [message] = source?.items.map(({ message }) => ({ ...message, messageId: 'msg_copy' })) ?? []
  assert.ok(message)
  const appended = other.appendStaged(staged, [message])
  await written.promise
  const removed = (async () => {
    await sessions.removeSession(W, 'ses_1')
    await finishRemovals(sessions)
    await sweepAll(fixture)
  })()
  // Enough time for all of it, unless something held it up.
  await Promise.race([removed, delay(500)])
  gate.resolve()
  await Promise.all([appended, removed])
  assert.ok(await store.get(W, hash))
})

test('content that a process caches is held for ten minutes without being read again', {
  skip: skipWithoutMongo,
}, async () => {
  await using fixture = await open()
  const since = Date.now()
  await fixture.store.put('wrk_held', Buffer.from('held'), newHold())
  const blob = await mongo?.db.collection<{ readonly checkAt: number }>('blobs').findOne({})
  const ms = (blob?.checkAt ?? Number.NaN) - since
  assert.ok(ms > 540_000 && ms < 660_000, `${ms}`)
})
