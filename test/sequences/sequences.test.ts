import assert from 'node:assert/strict'
import { test } from 'node:test'
import { mongoUri, skipWithoutMongo } from '#test/support/mongo.ts'
import { type Search, search } from './search.ts'

const shrinkMs = 45_000

/** Plays sequences that are the same each time; the machine's pace makes them different enough. */
async function hold(options: Omit<Search, 'shrinkMs'>): Promise<string> {
  const done = await search({ ...options, shrinkMs })
  const enough = (name: string, share: number) =>
    assert.ok(Number(done[name]) >= options.sequences * share, `too few of “${name}” to show anything`)
  enough('commands run', 0.5)
  enough('runs interrupted', 0.5)
  enough('held to run after an end', 0.2)
  return JSON.stringify(done)
}

test('sequences of requests hold to the contract on SQLite (3,000: npm run soak:sequences)', async (t) => {
  t.diagnostic(await hold({ seed: 2, sequences: 20, together: 20 }))
  t.diagnostic(await hold({ seed: 6, sequences: 20, together: 20 }))
})

test('sequences hold on two session services over MongoDB, of which one may end in the middle', {
  skip: skipWithoutMongo,
}, async (t) => {
  t.diagnostic(await hold({ seed: 7, sequences: 6, together: 6, mongo: mongoUri() }))
})
