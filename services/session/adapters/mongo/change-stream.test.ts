import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openMongo } from '#shared/stores/mongo.ts'
import { freshDatabaseName, mongoUri, skipWithoutMongo } from '#test/support/mongo.ts'
import { changesAfter, endOfLog, isLost } from './change-stream.ts'

test('a stream ends with an error when its collection is dropped; it does not spin', {
  skip: skipWithoutMongo,
}, async () => {
  await using mongo = await openMongo({ uri: mongoUri() ?? '', database: freshDatabaseName() })
  const collection = mongo.db.collection('sessions')
  await collection.insertOne({})
  const place = await endOfLog(mongo.db, 'sessions')
  const changes = changesAfter(collection, [], place, new AbortController().signal, 100)
  await collection.insertOne({})
  assert.equal((await changes.next()).value?.change?.operationType, 'insert')
  await mongo.db.dropDatabase()
  await assert.rejects(async () => {
    for await (const _ of changes);
  }, isLost)
})
