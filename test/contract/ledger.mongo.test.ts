import { MongoLedger } from '#services/inference/adapters/mongo-ledger.ts'
import type { Clock } from '#shared/clock.ts'
import { openMongo } from '#shared/mongo.ts'
import { freshDatabaseName, mongoUri, skipWithoutMongo } from '#test/support/mongo.ts'
import { LONGEST_MS, ledgerSuite } from './ledger.suite.ts'

async function makeStore() {
  const server = { uri: mongoUri() ?? '', database: freshDatabaseName() }
  return {
    open: async (clock: Clock) => MongoLedger.open(await openMongo(server), clock, LONGEST_MS),
    async [Symbol.asyncDispose]() {
      await using mongo = await openMongo(server)
      await mongo.db.dropDatabase()
    },
  }
}

ledgerSuite('MongoDB', makeStore, { skip: skipWithoutMongo })
