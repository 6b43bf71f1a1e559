import { MongoIdentityStore } from '#services/identity/adapters/mongo-identity-store.ts'
import { openMongo } from '#shared/mongo.ts'
import { freshDatabaseName, mongoUri, skipWithoutMongo } from '#test/support/mongo.ts'
import { identityStoreSuite } from './identity-store.suite.ts'

identityStoreSuite(
  'MongoDB',
  async () => {
    const options = { uri: mongoUri() ?? '', database: freshDatabaseName() }
    return {
      open: () => MongoIdentityStore.open(options),
      async [Symbol.asyncDispose]() {
        await using mongo = await openMongo(options)
        await mongo.db.dropDatabase()
      },
    }
  },
  { skip: skipWithoutMongo },
)
