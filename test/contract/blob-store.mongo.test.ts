import { openMongoBlobStore } from '#services/session/adapters/mongo/blob-store.ts'
import { openMongoSessionStore } from '#services/session/adapters/mongo/session-store.ts'
import { systemClock } from '#shared/clock.ts'
import { type Mongo, openMongo } from '#shared/stores/mongo.ts'
import { freshDatabaseName, mongoUri, skipWithoutMongo } from '#test/support/mongo.ts'
import { withUseCases } from '#test/support/session-use-cases.ts'
import { type BlobFixture, blobStoreSuite } from './blob-store.suite.ts'

async function open(): Promise<BlobFixture> {
  const mongo: Mongo = await openMongo({ uri: mongoUri() ?? '', database: freshDatabaseName() })
  const sessions = await openMongoSessionStore({ mongo, clock: systemClock })
  return {
    store: openMongoBlobStore({ mongo }),
    sessions: withUseCases(sessions),
    reopen: async () => openMongoBlobStore({ mongo }),
    async [Symbol.asyncDispose]() {
      await sessions[Symbol.asyncDispose]()
      await mongo.db.dropDatabase()
      await mongo[Symbol.asyncDispose]()
    },
  }
}

blobStoreSuite('MongoDB', open, { skip: skipWithoutMongo })
