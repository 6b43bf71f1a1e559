import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ConfigError } from '#shared/config/config-error.ts'
import { migrateStores } from '#shared/stores/migrate-stores.ts'
import { openMongo } from '#shared/stores/mongo.ts'
import { prepareMongoSchema } from '#shared/stores/mongo-schema.ts'
import { freshDatabaseName, mongoUri, skipWithoutMongo } from '#test/support/mongo.ts'
import { startProxy } from '#test/support/tcp-proxy.ts'

test('a server that goes away in the middle of a migration is one line', { skip: skipWithoutMongo }, async () => {
  const [uri, database] = [mongoUri() ?? '', freshDatabaseName()]
  await using mongo = await openMongo({ uri, database })
  const first = { name: 'x', indexes: {}, digest: 1, steps: [] }
  await prepareMongoSchema(mongo, first)
  try {
    const proxy = await startProxy(uri.replace(/^mongodb:/, 'http:'))
    const behind = `mongodb://${new URL(proxy.url).host}/?directConnection=true&serverSelectionTimeoutMS=200`
    const up = async (): Promise<void> => {
      await proxy[Symbol.asyncDispose]()
    }
    const steps = [{ version: 2, name: 'x', up }]
    const schema = { sqlite: [], mongo: { ...first, steps } }
    await assert.rejects(
      migrateStores({ kind: 'mongodb', uri: behind, database }, [schema], () => {}),
      (error) =>
        error instanceof ConfigError &&
        /^MongoDB became unavailable: .*\. Run this again once it is available$/.test(error.message),
    )
  } finally {
    await mongo.db.dropDatabase()
  }
})
