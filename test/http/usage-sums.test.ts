import test from 'node:test'
import { assertSums, startMixedProvider } from '#test/support/mixed-usage.ts'
import { dropDatabase, freshDatabaseName, mongoUri, skipWithoutMongo } from '#test/support/mongo.ts'
import { openPortico } from '#test/support/portico.ts'

test('SQLite: keys, activity and credits equal the sums of the rows after a mixed load', async () => {
  const { stub, env } = await startMixedProvider()
  await using _ = stub
  await using portico = await openPortico(env)
  await assertSums(stub, [portico])
})

test('MongoDB: keys, activity and credits equal the sums of the rows after a mixed load through two processes', {
  skip: skipWithoutMongo,
}, async (t) => {
  const database = freshDatabaseName()
  t.after(() => dropDatabase(database))
  const { stub, env } = await startMixedProvider()
  await using _ = stub
  const shared = { ...env, PORTICO_MONGODB_URI: mongoUri() ?? '', PORTICO_MONGODB_DATABASE: database }
  await using one = await openPortico(shared)
  await using other = await openPortico(shared)
  await assertSums(stub, [one, other])
})
