import { MongoIdentityStore } from '#services/identity/adapters/mongo/identity-store.ts'
import { openMongo } from '#shared/stores/mongo.ts'
import { freshDatabaseName, mongoUri, skipWithoutMongo } from '#test/support/mongo.ts'
import { identityStoreSuite } from './identity-store.suite.ts'

identityStoreSuite(
  'MongoDB',
  async () => {
    const mongo = await openMongo({ uri: mongoUri() ?? '', database: freshDatabaseName() })
    return {
      open: () => MongoIdentityStore.open(mongo),
      async [Symbol.asyncDispose]() {
        await mongo.db.dropDatabase()
        await mongo[Symbol.asyncDispose]()
      },
    }
  },
  { skip: skipWithoutMongo },
)
