// `npm run soak:sequences [-- SQLITE [MONGODB [KILLED [SEED]]]]`: the long form of sequences.test.ts; by default 10,000
// sequences on SQLite, 500 on MongoDB if there is a server, and 500 on SQLite while the server is killed repeatedly.
// With a failure's line in PORTICO_SEQUENCE, only that sequence is replayed.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { replay, type Search, search } from '#test/sequences/search.ts'
import { startMongo } from './test-mongo.ts'

const [sqlite = 10_000, mongodb = 500, killed = 500, seed = Math.floor(Math.random() * 2 ** 31)] = process.argv
  .slice(2)
  .map(Number)
const scenario = process.env.PORTICO_SEQUENCE
const scratch = mkdtempSync(join(tmpdir(), 'portico-sequences-'))
const begun = performance.now()
const say = (text: string): void =>
  void process.stdout.write(`${((performance.now() - begun) / 1_000).toFixed(0)} s  ${text}\n`)
const needsMongo = scenario === undefined ? mongodb > 0 : process.env.PORTICO_SEQUENCE_STORE === 'mongodb'
const mongo = needsMongo ? await startMongo(scratch) : undefined
// Where test/support looks for it.
if (mongo?.uri !== undefined) process.env.PORTICO_TEST_MONGODB_URI = mongo.uri

async function play(where: string, options: Pick<Search, 'sequences' | 'together' | 'mongo' | 'kills'>): Promise<void> {
  if (options.sequences === 0) return
  const onHeld = (done: number): void => say(`${done} sequences on ${where} held`)
  say(JSON.stringify(await search({ seed, shrinkMs: 300_000, onHeld, ...options })))
}

try {
  if (scenario !== undefined) await replay(scenario, { mongo: mongo?.uri })
  else {
    say(`seed ${seed}`)
    await play('SQLite', { sequences: sqlite, together: 60 })
    if (mongo?.uri !== undefined) await play('MongoDB', { sequences: mongodb, together: 20, mongo: mongo.uri })
    await play('SQLite with kills', { sequences: killed, together: 40, kills: true })
  }
} finally {
  await mongo?.stop()
  rmSync(scratch, { recursive: true, force: true })
}
