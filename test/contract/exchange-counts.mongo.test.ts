import { MongoExchangeCounts } from '#services/identity/adapters/mongo/exchange-counts.ts'
import { openMongo } from '#shared/stores/mongo.ts'
import { freshDatabaseName, mongoUri, skipWithoutMongo } from '#test/support/mongo.ts'
import { exchangeCountsSuite } from './exchange-counts.suite.ts'

exchangeCountsSuite(
  'MongoDB',
  async () => {
    const mongo = await openMongo({ uri: mongoUri() ?? '', database: freshDatabaseName() })
    return {
      open: () => new MongoExchangeCounts(mongo.db),
      async [Symbol.asyncDispose]() {
        await mongo.db.dropDatabase()
        await mongo[Symbol.asyncDispose]()
      },
    }
  },
  { skip: skipWithoutMongo },
)
