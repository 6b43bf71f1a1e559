// `npm run soak:sequences [-- SQLITE [MONGODB [SEED]]]`: the long form of sequences.test.ts; by default 3,000 sequences on
// SQLite, and 200 on MongoDB where there is a server. With a failure's line in PORTICO_SEQUENCE only that is played.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { replay, search } from '#test/sequences/search.ts'
import { startMongo } from './test-mongo.ts'

const [sqlite = 3_000, mongodb = 200, seed = Math.floor(Math.random() * 2 ** 31)] = process.argv.slice(2).map(Number)
const scenario = process.env.PORTICO_SEQUENCE
const scratch = mkdtempSync(join(tmpdir(), 'portico-sequences-'))
const begun = performance.now()
const say = (text: string): void =>
  void process.stdout.write(`${((performance.now() - begun) / 1_000).toFixed(0)} s  ${text}\n`)
const needsMongo = scenario === undefined ? mongodb > 0 : process.env.PORTICO_SEQUENCE_STORE === 'mongodb'
const mongo = needsMongo ? await startMongo(scratch) : undefined
try {
  if (scenario !== undefined) await replay(scenario, { mongo: mongo?.uri })
  else {
    say(`seed ${seed}`)
    const common = { seed, shrinkMs: 300_000 }
    const saying = (store: string) => (done: number) => say(`${done} sequences on ${store} held`)
    if (sqlite > 0)
      say(JSON.stringify(await search({ ...common, sequences: sqlite, together: 60, onHeld: saying('SQLite') })))
    if (mongo?.uri !== undefined) {
      const result = await search({
        ...common,
        mongo: mongo.uri,
        sequences: mongodb,
        together: 20,
        onHeld: saying('MongoDB'),
      })
      say(JSON.stringify(result))
    }
  }
} finally {
  await mongo?.stop()
  rmSync(scratch, { recursive: true, force: true })
}
