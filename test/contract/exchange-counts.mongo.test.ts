import { MongoExchangeCounts } from '#services/identity/adapters/mongo/exchange-counts.ts'
import { sharedDatabase, skipWithoutMongo } from '#test/support/mongo.ts'
import { exchangeCountsSuite } from './exchange-counts.suite.ts'

const emptied = sharedDatabase()

exchangeCountsSuite(
  'MongoDB',
  async () => {
    const mongo = await emptied()
    return {
      open: () => new MongoExchangeCounts(mongo.db),
      async [Symbol.asyncDispose]() {},
    }
  },
  { skip: skipWithoutMongo },
)
