import { MongoSigningKeys } from '#services/identity/adapters/mongo/signing-keys.ts'
import { openMongo } from '#shared/stores/mongo.ts'
import { freshDatabaseName, mongoUri, skipWithoutMongo } from '#test/support/mongo.ts'
import { signingKeysSuite } from './signing-keys.suite.ts'

signingKeysSuite(
  'MongoDB',
  async () => {
    const mongo = await openMongo({ uri: mongoUri() ?? '', database: freshDatabaseName() })
    return {
      open: async () => Object.assign(new MongoSigningKeys(mongo), { async [Symbol.asyncDispose]() {} }),
      async [Symbol.asyncDispose]() {
        await mongo.db.dropDatabase()
        await mongo[Symbol.asyncDispose]()
      },
    }
  },
  { skip: skipWithoutMongo },
)
