import { DatabaseSync } from 'node:sqlite'
import { setTimeout as delay } from 'node:timers/promises'
import { openSqliteSessionStore } from '#services/session/adapters/sqlite/open-session-store.ts'
import type { SessionStore } from '#services/session/ports/session-store.ts'
import { systemClock } from '#shared/clock.ts'
import { someSessions, W } from './sessions.ts'

const TOGETHER = 10_000

/** A SQLite store with this many sessions, whose titles are indexed. */
export async function filledSqlite(path: string, count: number): Promise<SessionStore> {
  const open = () => openSqliteSessionStore({ path, clock: systemClock })
  await (await open())[Symbol.asyncDispose]()
  const file = new DatabaseSync(path)
  file.exec('PRAGMA synchronous = OFF')
  const columns = new Set(
    file
      .prepare(`SELECT name FROM pragma_table_info('sessions')`)
      .all()
      .map(({ name }) => name),
  )
  const [any] = someSessions(10)
  const names = [...Object.keys(any ?? {}).filter((name) => columns.has(name)), 'titlePlace']
  const insert = file.prepare(
    `INSERT INTO sessions (${names.join(', ')}) VALUES (${names.map((name) => `:${name}`).join(', ')})`,
  )
  insert.setAllowUnknownNamedParameters(true)
  let written = 0
  for (const session of someSessions(count)) {
    if (written % TOGETHER === 0) file.exec(written === 0 ? 'BEGIN' : 'COMMIT; BEGIN')
    insert.run({ ...session, titlePlace: written++ })
  }
  file.exec('COMMIT')
  file.close()
  const store = await open()
  await indexed(store)
  return store
}

/** Waits until no title waits for the index: then a search without results takes no longer than before. */
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
