import { MongoLedger } from '#services/inference/adapters/mongo/ledger.ts'
import type { Clock } from '#shared/clock.ts'
import { openMongo } from '#shared/stores/mongo.ts'
import { freshDatabaseName, mongoUri, skipWithoutMongo } from '#test/support/mongo.ts'
import { LONGEST_MS, ledgerSuite } from './ledger.suite.ts'

async function makeStore() {
  const mongo = await openMongo({ uri: mongoUri() ?? '', database: freshDatabaseName() })
  return {
    open: (clock: Clock) => MongoLedger.open(mongo, clock, LONGEST_MS),
    async [Symbol.asyncDispose]() {
      await mongo.db.dropDatabase()
      await mongo[Symbol.asyncDispose]()
    },
  }
}

ledgerSuite('MongoDB', makeStore, { skip: skipWithoutMongo })
