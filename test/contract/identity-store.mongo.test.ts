import { openMongoStores } from '#services/identity/adapters/mongo/stores.ts'
import { openMongo } from '#shared/stores/mongo.ts'
import { freshDatabaseName, mongoUri, skipWithoutMongo } from '#test/support/mongo.ts'
import { identitySuites } from './identity-store.suites.ts'

identitySuites(
  'MongoDB',
  async () => {
    const mongo = await openMongo({ uri: mongoUri() ?? '', database: freshDatabaseName() })
    return {
      open: () => openMongoStores(mongo),
      async [Symbol.asyncDispose]() {
        await mongo.db.dropDatabase()
        await mongo[Symbol.asyncDispose]()
      },
    }
  },
  { skip: skipWithoutMongo },
)
