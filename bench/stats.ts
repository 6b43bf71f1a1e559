// How long statistics over many steps of a SQLite store take, and how long they block the event loop. Usage: node
// bench/stats.ts [--steps N]; 1,000,000 take a minute and half a gigabyte of disk.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { parseArgs } from 'node:util'
import { openSqliteSessionStore } from '#services/session/adapters/sqlite/open-session-store.ts'
import { Calendar } from '#services/session/domain/stats/calendar.ts'
import { Stats } from '#services/session/domain/stats/stats.ts'
import { systemClock } from '#shared/clock.ts'
import { longestTurn } from './harness/longest-turn.ts'

const { values } = parseArgs({ options: { steps: { type: 'string', default: '1000000' } } })
const W = 'wrk_0123456789abcdefghij'
const STEPS_OF_A_SESSION = 20

const folder = await mkdtemp(join(tmpdir(), 'portico-stats-'))
try {
  const path = join(folder, 'session.sqlite')
  const steps = Number(values.steps)
  await fill(path, steps)
  await using store = await openSqliteSessionStore({ path, clock: systemClock })
  for (const [name, query] of [
    ['all', { calls: true }],
    ['all, without tools', { calls: false }],
    ['one project of ten', { calls: true, projectId: 'p3' }],
    ['a thousandth of the time', { calls: true, from: 0, to: steps }],
  ] as const) {
    let reading = true
    const watching = longestTurn(() => reading)
    const cpu = process.cpuUsage()
    const began = performance.now()
    const stats = new Stats(Calendar.of('America/New_York') as Calendar)
    const asked = { from: undefined, to: steps * 1_000, projectId: undefined, ...query }
    for await (const batch of store.listActivity(W, asked)) for (const one of batch) stats.add(one)
    const { total, tools, days } = stats
    const taken = performance.now() - began
    const { user, system } = process.cpuUsage(cpu)
    reading = false
    const held = await watching
    process.stdout.write(
      `${name.padEnd(26)} ${String(total.stepCount).padStart(8)} steps, ${days.length} days, ${tools.length} tools: ${Math.round(taken)} ms, ${Math.round((user + system) / 1_000)} ms of CPU, held up ${Math.round(held)} ms\n`,
    )
  }
} finally {
  await rm(folder, { recursive: true })
}

/** A step per second, with one tool call. */
async function fill(path: string, count: number): Promise<void> {
  await (await openSqliteSessionStore({ path, clock: systemClock }))[Symbol.asyncDispose]()
  const file = new DatabaseSync(path)
  file.exec('PRAGMA synchronous = OFF; BEGIN')
  const session = file.prepare(
    `INSERT INTO sessions (number, workspace, sessionId, projectId, directory, subpath, costNanos, tokens, createTime, updateTime,
       seq, due, running, interruptRequested, fence, leaseUntil)
     VALUES (?, ?, ?, ?, '/', '', '0', '{}', 0, ?, 0, 0, 0, 0, 0, 0)`,
  )
  for (let i = 0; i * STEPS_OF_A_SESSION < count; i++) session.run(i + 1, W, `ses_${i}`, `p${i % 10}`, i)
  const insert = file.prepare('INSERT INTO activity VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)')
  const model = JSON.stringify({ providerId: 'portico', modelId: 'echo' })
  const tokens = JSON.stringify({ input: 1_000, output: 200, reasoning: 50, cacheRead: 5_000, cacheWrite: 100 })
  for (let i = 0; i < count; i++) {
    const calls = JSON.stringify([
      { name: `tool${i % 7}`, end: i % 9 === 0 ? 'failed' : 'succeeded', durationMs: i % 30_011 },
    ])
    const number = 1 + Math.floor(i / STEPS_OF_A_SESSION)
    insert.run(W, i * 1_000, `msg_${i}`, number, 'step', model, '1234567', tokens, calls)
  }
  file.exec('COMMIT')
  file.close()
}
