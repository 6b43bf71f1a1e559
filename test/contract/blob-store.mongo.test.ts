import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { openMongoBlobStore } from '#services/session/adapters/mongo/blob-store.ts'
import { openMongoSessionStore } from '#services/session/adapters/mongo/session-store.ts'
import { systemClock } from '#shared/clock.ts'
import { openMongo } from '#shared/stores/mongo.ts'
import { emptyDatabase, freshDatabaseName, mongoUri, skipWithoutMongo } from '#test/support/mongo.ts'
import { withUseCases } from '#test/support/session-use-cases.ts'
import { type BlobFixture, blobStoreSuite, newHold } from './blob-store.suite.ts'

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

test('what a process holds that is not asked again is held for ten minutes', { skip: skipWithoutMongo }, async () => {
  await using fixture = await open()
  const since = Date.now()
  await fixture.store.put('wrk_held', Buffer.from('held'), newHold())
  const blob = await mongo?.db.collection<{ readonly checkAt: number }>('blobs').findOne({})
  const ms = (blob?.checkAt ?? Number.NaN) - since
  assert.ok(ms > 540_000 && ms < 660_000, `${ms}`)
})
