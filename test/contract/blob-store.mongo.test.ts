import assert from 'node:assert/strict'
import { after } from 'node:test'
import { openMongoBlobStore } from '#services/session/adapters/mongo/blob-store.ts'
import { openMongoSessionStore } from '#services/session/adapters/mongo/session-store.ts'
import { systemClock } from '#shared/clock.ts'
import { openMongo } from '#shared/stores/mongo.ts'
import { emptyDatabase, freshDatabaseName, mongoUri, skipWithoutMongo } from '#test/support/mongo.ts'
import { withUseCases } from '#test/support/session-use-cases.ts'
import { type BlobFixture, blobStoreSuite } from './blob-store.suite.ts'

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
