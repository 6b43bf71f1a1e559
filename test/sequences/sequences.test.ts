import assert from 'node:assert/strict'
import { test } from 'node:test'
import { mongoUri, skipWithoutMongo } from '#test/support/mongo.ts'
import { search } from './search.ts'

const shrinkMs = 45_000

test('sequences of requests hold to the contract on SQLite, known ones and new ones (3,000: npm run soak:sequences)', async (t) => {
  const known = { seed: 5, sequences: 20, together: 20, shrinkMs }
  await search(known)
  const seed = Math.floor(Math.random() * 2 ** 31)
  const done = await search({ ...known, seed })
  t.diagnostic(`seed ${seed}: ${JSON.stringify(done)}`)
  assert.ok(
    Number(done['commands run']) > 10 && Number(done['runs interrupted']) > 5,
    'too little happened to show anything',
  )
})

test('sequences hold on two session services over MongoDB, of which one may end in the middle', {
  skip: skipWithoutMongo,
}, async (t) => {
  const seed = Math.floor(Math.random() * 2 ** 31)
  const done = await search({ seed, sequences: 6, together: 6, mongo: mongoUri(), shrinkMs })
  t.diagnostic(`seed ${seed}: ${JSON.stringify(done)}`)
})
