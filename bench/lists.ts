// The cost of a page of 50 of a list with 1,000 and with 1,000,000 sessions, with every kind of filter, and how long
// each blocks the event loop. SQLite, in milliseconds of the thread's time; with the URI of a replica set MongoDB, by
// the clock. Usage: lists.ts [--sessions N] [MONGODB_URI]; 1,000,000 take two minutes and 1 GB of disk, in MongoDB ten
// minutes and 1.5 GB.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { Order } from '#gen/portico/session/v1/session_service_pb.js'
import type { SessionQuery } from '#services/session/ports/session-lists.ts'
import type { SessionStore } from '#services/session/ports/session-store.ts'
import { longestTurn, ownMs } from './harness/longest-turn.ts'
import { CASES } from './lists/cases.ts'
import { filledMongo } from './lists/mongo.ts'
import { W } from './lists/sessions.ts'
import { filledSqlite } from './lists/sqlite.ts'

const { values, positionals } = parseArgs({
  options: { sessions: { type: 'string', default: '1000000' } },
  allowPositionals: true,
})
const SMALL = 1_000
/** Pages that are read while the event loop is watched. */
const WATCHED = 3
const [uri] = positionals
const spentMs = uri === undefined ? ownMs : () => performance.now()

const folder = await mkdtemp(join(tmpdir(), 'portico-lists-'))
try {
  const large = Number(values.sessions)
  await using small = await filled(SMALL)
  await using many = await filled(large)
  process.stdout.write(`${'a page of 50'.padEnd(36)} at ${SMALL}   at ${large}   ratio  held up\n`)
  for (const { name, query, goal, empty = false } of CASES) {
    for (const store of [small, many]) {
      if (((await read(store, query)) === 0) !== empty) throw new Error(`${name}: found what is not there, or nothing`)
    }
    const before = await cost(small, query)
    const after = await cost(many, query)
    const ratio = after.ms / before.ms
    const verdict = goal === undefined ? '' : `  goal ${goal}: ${ratio <= goal ? 'met' : 'MISSED'}`
    const figures = [before.ms.toFixed(2).padStart(8), after.ms.toFixed(2).padStart(10), ratio.toFixed(1).padStart(8)]
    process.stdout.write(
      `${name.padEnd(36)}${figures.join(' ')}  ${after.heldMs.toFixed(0).padStart(4)} ms${verdict}\n`,
    )
  }
} finally {
  await rm(folder, { recursive: true })
}

async function filled(count: number): Promise<SessionStore> {
  const began = performance.now()
  const store = await (uri === undefined
    ? filledSqlite(join(folder, `${count}.sqlite`), count)
    : filledMongo(uri, count))
  process.stderr.write(`${count} sessions written in ${Math.round(performance.now() - began)} ms\n`)
  return store
}

/** Cost of a page in milliseconds, and the longest time between two turns of the event loop. */
async function cost(store: SessionStore, query: Partial<SessionQuery>): Promise<{ ms: number; heldMs: number }> {
  let reading = true
  const watching = longestTurn(() => reading)
  for (let round = 0; round < WATCHED; round++) await read(store, query)
  reading = false
  const heldMs = await watching
  // A thread's clock ticks every 4 ms, so many pages are read, as long as that takes no more than a second.
  const began = spentMs()
  let rounds = 0
  while (rounds < 1 || (rounds < 500 && spentMs() - began < 1_000)) {
    await read(store, query)
    rounds++
  }
  return { ms: (spentMs() - began) / rounds, heldMs }
}

async function read(store: SessionStore, query: Partial<SessionQuery>): Promise<number> {
  let count = 0
  for await (const batch of store.listSessions(W, { order: Order.DESCENDING, ...query, limit: 51 }))
    count += batch.length
  if (count > 51) throw new Error('A page is too long')
  return count
}
