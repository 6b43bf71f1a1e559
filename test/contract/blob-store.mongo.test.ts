import { openMongoBlobStore } from '#services/session/adapters/mongo/blob-store.ts'
import { type Mongo, openMongo } from '#shared/stores/mongo.ts'
import { freshDatabaseName, mongoUri, skipWithoutMongo } from '#test/support/mongo.ts'
import { type BlobFixture, blobStoreSuite } from './blob-store.suite.ts'

async function open(): Promise<BlobFixture> {
  const mongo: Mongo = await openMongo({ uri: mongoUri() ?? '', database: freshDatabaseName() })
  return {
    store: openMongoBlobStore({ mongo }),
    reopen: async () => openMongoBlobStore({ mongo }),
    async [Symbol.asyncDispose]() {
      await mongo.db.dropDatabase()
      await mongo[Symbol.asyncDispose]()
    },
  }
}

blobStoreSuite('MongoDB', open, { skip: skipWithoutMongo })
