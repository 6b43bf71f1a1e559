import { MongoSigningKeys } from '#services/identity/adapters/mongo/signing-keys.ts'
import { sharedDatabase, skipWithoutMongo } from '#test/support/mongo.ts'
import { signingKeysSuite } from './signing-keys.suite.ts'

const emptied = sharedDatabase()

signingKeysSuite(
  'MongoDB',
  async () => {
    const mongo = await emptied()
    return {
      open: async () => Object.assign(new MongoSigningKeys(mongo), { async [Symbol.asyncDispose]() {} }),
      async [Symbol.asyncDispose]() {},
    }
  },
  { skip: skipWithoutMongo },
)
