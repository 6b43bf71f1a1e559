import { after } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { openMongoSessionStore } from '#services/session/adapters/mongo-session-store.ts'
import { openMongo } from '#shared/mongo.ts'
import { freshDatabaseName, mongoUri, skipWithoutMongo } from '#test/support/mongo.ts'
import { sessionStoreSuite } from './session-store.suite.ts'
import { ManualClock, type StoreFixture } from './session-store.support.ts'

const opened =
  mongoUri() === undefined ? undefined : await openMongo({ uri: mongoUri() ?? '', database: freshDatabaseName() })
after(async () => {
  await opened?.db.dropDatabase()
  await opened?.[Symbol.asyncDispose]()
})

async function open(): Promise<StoreFixture> {
  const mongo = opened as NonNullable<typeof opened>
  for (const collection of await mongo.db.collections()) await collection.deleteMany({})
  const clock = new ManualClock()
  const store = await openMongoSessionStore({ mongo, clock })
  return {
    store,
    clock,
    longMs: 60_000,
    shortMs: 500,
    outlast: () => delay(600),
    [Symbol.asyncDispose]: () => store[Symbol.asyncDispose](),
  }
}

sessionStoreSuite('MongoDB', open, { skip: skipWithoutMongo })
