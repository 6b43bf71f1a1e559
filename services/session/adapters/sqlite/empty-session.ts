import { systemClock } from '#shared/clock.ts'
import type { SqliteFile } from '#shared/stores/sqlite.ts'
import { releaseBlobs } from './blob-uses.ts'

/** How long a batch may hold up everybody else, in milliseconds. */
const BATCH_MS = 5
/** How many rows are deleted before the clock is read again. */
const ROWS = 50

/** Deletes some of a session's rows of one kind, and returns how many. To be called in a job. */
type Emptier = (file: SqliteFile, session: number) => number

/**
 * One for each kind of row that a session has, except its row in `sessions`. Whoever adds a table with rows of sessions
 * adds it here. A message is deleted after everything that is found through it.
 */
const EMPTIERS: readonly Emptier[] = [
  byRow('requests', 'session = ? AND reply IS NOT NULL'),
  byMessage(`inbox WHERE session = ? AND state = 'waiting'`),
  byMessage(`inbox WHERE session = ? AND state = 'cancelled'`),
  byMessage('messages WHERE session = ?'),
  (file, session) =>
    changes(
      file,
      `DELETE FROM events WHERE (workspace, position) IN
        (SELECT workspace, position FROM events WHERE session = ? LIMIT ${ROWS})`,
      session,
    ),
  (file, session) =>
    changes(
      file,
      `DELETE FROM activity WHERE (workspace, timeCreated, id) IN
        (SELECT workspace, timeCreated, id FROM activity WHERE session = ? LIMIT ${ROWS})`,
      session,
    ),
]

/** Deletes rows of a session for some milliseconds; returns whether there may be more. To be called in a job. */
export function emptySession(file: SqliteFile, session: number): boolean {
  const until = systemClock.monotonic() + BATCH_MS
  for (const empty of EMPTIERS) {
    while (empty(file, session) > 0) if (systemClock.monotonic() >= until) return true
  }
  return false
}

/** Deletes a message and what goes with it; to be called in a job. */
export function deleteMessage(file: SqliteFile, workspace: string, id: string): void {
  while (deleteParts(file, workspace, id) > 0);
  releaseBlobs(file, workspace, id)
  for (const table of ['inbox', 'messages']) {
    file.statement(`DELETE FROM ${table} WHERE workspace = ? AND id = ?`).run(workspace, id)
  }
}

/** One message or inbox item, or some of the parts of a message. */
function byMessage(from: string): Emptier {
  return (file, session) => {
    const row = file.statement(`SELECT workspace, id FROM ${from} LIMIT 1`).get(session)
    if (row === undefined) return 0
    const workspace = row.workspace as string
    const id = row.id as string
    if (deleteParts(file, workspace, id) < ROWS) deleteMessage(file, workspace, id)
    return 1
  }
}

function deleteParts(file: SqliteFile, workspace: string, message: string): number {
  const sql = `DELETE FROM parts WHERE rowid IN (SELECT rowid FROM parts WHERE workspace = ? AND message = ? LIMIT ${ROWS})`
  return changes(file, sql, workspace, message)
}

function byRow(table: string, where: string): Emptier {
  const sql = `DELETE FROM ${table} WHERE rowid IN (SELECT rowid FROM ${table} WHERE ${where} LIMIT ${ROWS})`
  return (file, session) => changes(file, sql, session)
}

function changes(file: SqliteFile, sql: string, ...values: (string | number)[]): number {
  return Number(file.statement(sql).run(...values).changes)
}
