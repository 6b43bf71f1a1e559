import assert from 'node:assert/strict'
import { test } from 'node:test'
import { mongoUri, skipWithoutMongo } from '#test/support/mongo.ts'
import { search } from './search.ts'

const shrinkMs = 45_000

// Sequences are the same each time; the pace of the machine makes them different enough.

for (const [seed, what] of [
  [2, 'undisturbed'],
  [6, 'on a server that is killed twice'],
] as const) {
  test(`sequences of requests hold to the contract on SQLite, ${what} (10,000: npm run soak:sequences)`, async (t) => {
    const done = await search({ seed, sequences: 20, together: 20, shrinkMs })
    t.diagnostic(JSON.stringify(done))
    const least = { 'calls run': 10, 'runs interrupted': 5, 'held to run after an end': 1 }
    for (const [name, times] of Object.entries(least))
      assert.ok(Number(done[name]) >= times, `too few of “${name}” to show anything: ${done[name]}`)
  })
}

test('sequences hold on two session services over MongoDB, of which one may end in the middle', {
  skip: skipWithoutMongo,
}, async (t) => {
  t.diagnostic(JSON.stringify(await search({ seed: 7, sequences: 6, together: 6, mongo: mongoUri(), shrinkMs })))
})
