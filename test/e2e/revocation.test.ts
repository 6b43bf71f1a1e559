import assert from 'node:assert/strict'
import { test } from 'node:test'
import { skipWithoutMongo } from '#test/support/mongo.ts'
import { openTwoOnSqlite, revocationRounds, startTwoOnMongo } from './revocation-rounds.ts'

test('a disabled key is refused, and so are its tokens, from the next request on, at two identity services (SQLite, 200 rounds)', async (t) => {
  await using deployment = await openTwoOnSqlite()
  const report = await revocationRounds(deployment, 200)
  t.diagnostic(JSON.stringify(report))
  assert.ok(report.between > report.rounds)
})

test('a disabled key is refused at once through two gateways and two identity services (MongoDB, 25 rounds; 1,000: npm run soak:revocation)', {
  skip: skipWithoutMongo,
}, async (t) => {
  await using deployment = await startTwoOnMongo()
  const report = await revocationRounds(deployment, 25)
  t.diagnostic(JSON.stringify(report))
  assert.ok(report.between > report.rounds)
})
