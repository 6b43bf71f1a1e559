import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openMongo } from '#shared/stores/mongo.ts'
import { freshDatabaseName, mongoUri, skipWithoutMongo } from '#test/support/mongo.ts'

test('writes wait for the majority, and a transaction that fails leaves nothing', {
  skip: skipWithoutMongo,
}, async () => {
  await using mongo = await openMongo({ uri: mongoUri() ?? '', database: freshDatabaseName() })
  try {
    const things = mongo.db.collection<{ _id: number; note?: string }>('things')
    await things.insertOne({ _id: 1 })
    assert.equal(mongo.db.writeConcern?.w, 'majority')
    const failed = mongo.client.withSession((session) =>
      session.withTransaction(async () => {
        await things.insertOne({ _id: 2 }, { session })
        throw new Error('refused')
      }),
    )
    await assert.rejects(failed, /refused/)
    assert.deepEqual(await things.find().toArray(), [{ _id: 1 }])
  } finally {
    await mongo.db.dropDatabase()
  }
})

test('a server that does not run is reported instead of waited for', async () => {
  await assert.rejects(openMongo({ uri: 'mongodb://127.0.0.1:9/?replicaSet=none', database: freshDatabaseName() }), {
    name: 'ConfigError',
    message: /^The settings cannot be used:\n {2}PORTICO_MONGODB_URI: cannot be used: .*127\.0\.0\.1:9/,
  })
})
