// What a page of 50 of a list costs a SQLite store with 1,000 sessions and with 1,000,000, with every kind of filter, and how long
// each holds up the event loop. Usage: node bench/lists.ts [--sessions N]; 1,000,000 take two minutes and 1 GB of disk.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout as delay } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { openSqliteSessionStore } from '#services/session/adapters/sqlite/open-session-store.ts'
import type { SessionQuery } from '#services/session/ports/session-lists.ts'
import type { SessionStore } from '#services/session/ports/session-store.ts'
import { systemClock } from '#shared/clock.ts'
import { longestTurn, ownMs } from './harness/longest-turn.ts'

const { values } = parseArgs({ options: { sessions: { type: 'string', default: '1000000' } } })
const W = 'wrk_0123456789abcdefghij'
const SMALL = 1_000
/** Pages that are read while the event loop is watched. */
const WATCHED = 3

interface Case {
  readonly name: string
  readonly query: Partial<SessionQuery>
  /** Times the cost at 1,000 sessions. */
  readonly goal?: number
}

/** Names ending in "few" match ten sessions, whatever their number, and others a fixed part of them. */
const CASES: readonly Case[] = [
  { name: 'all', query: {}, goal: 2 },
  { name: 'all, ascending', query: { order: 'ascending' }, goal: 2 },
  { name: 'roots, nearly all', query: { parentId: null }, goal: 2 },
  { name: 'children of one, a tenth', query: { parentId: 'ses_parent' }, goal: 2 },
  { name: 'children of one, few', query: { parentId: 'ses_few' }, goal: 2 },
  { name: 'directory, half', query: { directory: '/home/user/many' }, goal: 2 },
  { name: 'directory, few', query: { directory: '/home/user/few' }, goal: 2 },
  { name: 'project, half', query: { projectId: 'many' }, goal: 2 },
  { name: 'project, few', query: { projectId: 'few' }, goal: 2 },
  { name: 'project and subpath, a quarter', query: { projectId: 'many', subpath: 'src' }, goal: 2 },
  { name: 'project and subpath, few', query: { projectId: 'few', subpath: '' }, goal: 2 },
  { name: 'nobody’s directory', query: { directory: '/nowhere' }, goal: 2 },
  { name: 'search, all', query: { search: 'session' }, goal: 20 },
  { name: 'search, half', query: { search: 'parser' }, goal: 20 },
  { name: 'search, 1 in 100', query: { search: 'topic 42 ' }, goal: 20 },
  { name: 'search, few', query: { search: 'needle' }, goal: 20 },
  { name: 'search, none', query: { search: 'nothing like it' }, goal: 20 },
  { name: 'search, all the oldest tenth', query: { search: 'ancient' }, goal: 20 },
  { name: 'search few, in directory of half', query: { search: 'needle', directory: '/home/user/many' }, goal: 20 },
  { name: 'search half, in directory of few', query: { search: 'parser', directory: '/home/user/few' }, goal: 20 },
  { name: 'search half, in the other half', query: { search: 'parser', projectId: 'other' }, goal: 20 },
  { name: 'search 1 in 100, roots', query: { search: 'topic 42 ', parentId: null }, goal: 20 },
  { name: 'short search, none', query: { search: 'q!' } },
  { name: 'directory and roots', query: { directory: '/home/user/many', parentId: null } },
  { name: 'directory and the other project', query: { directory: '/home/user/many', projectId: 'other' } },
  { name: 'parent and project of few', query: { parentId: 'ses_parent', projectId: 'few' } },
]

const folder = await mkdtemp(join(tmpdir(), 'portico-lists-'))
try {
  const large = Number(values.sessions)
  await using small = await filled(join(folder, 'small.sqlite'), SMALL)
  await using many = await filled(join(folder, 'many.sqlite'), large)
  process.stdout.write(`${'a page of 50'.padEnd(36)} at ${SMALL}   at ${large}   ratio  held up\n`)
  for (const { name, query, goal } of CASES) {
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

/** Milliseconds of this thread for a page, and the longest between two turns of the event loop. */
async function cost(store: SessionStore, query: Partial<SessionQuery>): Promise<{ ms: number; heldMs: number }> {
  let reading = true
  const watching = longestTurn(() => reading)
  for (let round = 0; round < WATCHED; round++) await read(store, query)
  reading = false
  const heldMs = await watching
  // The clock of a thread ticks every 4 ms: many pages are read, as long as that takes no longer than a second.
  const began = ownMs()
  let rounds = 0
  while (rounds < 1 || (rounds < 500 && ownMs() - began < 1_000)) {
    await read(store, query)
    rounds++
  }
  return { ms: (ownMs() - began) / rounds, heldMs }
}

async function read(store: SessionStore, query: Partial<SessionQuery>): Promise<void> {
  let count = 0
  for await (const batch of store.listSessions(W, { order: 'descending', ...query, limit: 51 })) count += batch.length
  if (count > 51) throw new Error('A page is too long')
}

/** A store with so many sessions, a second apart. */
async function filled(path: string, count: number): Promise<SessionStore> {
  const open = () => openSqliteSessionStore({ path, clock: systemClock })
  await (await open())[Symbol.asyncDispose]()
  const began = performance.now()
  const file = new DatabaseSync(path)
  file.exec('PRAGMA synchronous = OFF')
  const insert = file.prepare(
    `INSERT INTO sessions (workspace, id, parentId, projectId, directory, subpath, title, titleSearch, model, costNanos, tokens,
       outcome, timeCreated, timeUpdated, timeIdle, seq, due, running, interruptRequested, fence, leaseUntil)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, '0', ?, 'succeeded', ?, ?, ?, 20, 0, 0, 0, 1, 0)`,
  )
  const start = Date.now() - count * 1_000
  const step = Math.floor(count / 10)
  const tokens = JSON.stringify({ input: 100, output: 100, reasoning: 0, cacheRead: 0, cacheWrite: 0 })
  const model = JSON.stringify({ providerId: 'portico', modelId: 'echo', variant: '' })
  for (let i = 0; i < count; i++) {
    if (i % 10_000 === 0) file.exec(i === 0 ? 'BEGIN' : 'COMMIT; BEGIN')
    const few = i % step === 7
    const half = i % 2 === 0
    const parent = few ? 'ses_few' : i % 10 === 3 ? 'ses_parent' : null
    const directory = few ? '/home/user/few' : half ? '/home/user/many' : `/home/user/p${i % 999}`
    const title = `Session ${i} ${few ? 'needle' : half ? 'of the parser' : 'of the lexer'}, topic ${i % 100} ${i < step ? 'ancient' : ''}`
    const project = few ? 'few' : half ? 'many' : 'other'
    const subpath = !few && i % 4 === 0 ? 'src' : ''
    const time = start + i * 1_000
    const id = `ses_${i.toString(36).padStart(6, '0')}0123456789abcdefghij`
    insert.run(W, id, parent, project, directory, subpath, title, title.toLowerCase(), model, tokens, time, time, time)
  }
  file.exec('COMMIT')
  file.close()
  const inserted = performance.now()
  const store = await open()
  await indexed(store)
  process.stderr.write(
    `${count} sessions written in ${Math.round(inserted - began)} ms, titles indexed in ${Math.round(performance.now() - inserted)} ms\n`,
  )
  return store
}

/** Until no title waits for the index any more: then a search for what is nowhere takes no longer than before. */
async function indexed(store: SessionStore): Promise<void> {
  for (let last = Number.POSITIVE_INFINITY; ; ) {
    const began = performance.now()
    for await (const _ of store.listSessions(W, { order: 'descending', search: 'nothing like it', limit: 51 }));
    const taken = performance.now() - began
    if (taken > 0.9 * last && taken < 20) return
    last = taken
    await delay(1_000)
  }
}
