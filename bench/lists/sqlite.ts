import { DatabaseSync } from 'node:sqlite'
import { openSqliteSessionStore } from '#services/session/adapters/sqlite/open-session-store.ts'
import type { SessionStore } from '#services/session/ports/session-store.ts'
import { systemClock } from '#shared/clock.ts'
import { someSessions } from './sessions.ts'

const TOGETHER = 10_000

/** A SQLite store with this many sessions. */
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
  const names = [...Object.keys(any ?? {}).filter((name) => columns.has(name))]
  const insert = file.prepare(
    `INSERT INTO sessions (${names.join(', ')}) VALUES (${names.map((name) => `:${name}`).join(', ')})`,
  )
  insert.setAllowUnknownNamedParameters(true)
  let written = 0
  for (const session of someSessions(count)) {
    if (written % TOGETHER === 0) file.exec(written === 0 ? 'BEGIN' : 'COMMIT; BEGIN')
    insert.run({ ...session })
    written++
  }
  file.exec('COMMIT')
  file.close()
  return open()
}
