import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ConfigError } from '#shared/config/config-error.ts'
import { migrateStores } from '#shared/stores/migrate-stores.ts'
import { openMongo } from '#shared/stores/mongo.ts'
import { freshDatabaseName, mongoUri, skipWithoutMongo } from '#test/support/mongo.ts'
import { startProxy } from '#test/support/tcp-proxy.ts'

test('a server that goes away in the middle of a migration is one line', { skip: skipWithoutMongo }, async () => {
  const [uri, database] = [mongoUri() ?? '', freshDatabaseName()]
  await using mongo = await openMongo({ uri, database })
  await mongo.db.collection('texts').insertOne({ text: 'kept' })
  try {
    const proxy = await startProxy(uri.replace(/^mongodb:/, 'http:'))
    const behind = `mongodb://${new URL(proxy.url).host}/?directConnection=true&serverSelectionTimeoutMS=200`
    const up = async (): Promise<void> => {
      await proxy[Symbol.asyncDispose]()
    }
    const steps = [1, 2].map((version) => ({ version, name: 'x', up }))
    const schema = {
      sqlite: [{ file: 'x', exclusive: false, steps: [] }],
      mongo: { name: 'x', collection: 'texts', steps },
    }
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
