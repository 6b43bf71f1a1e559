import { setImmediate } from 'node:timers/promises'
import type { CountedActivity } from '#services/session/domain/stats/stats.ts'
import type { ActivityQuery } from '#services/session/ports/session-lists.ts'
import type { SqliteFile } from '#shared/stores/sqlite.ts'
import { type ActivityRecord, type CountedRecord, toCounted } from '../common/activity-record.ts'

/** Rows that are read at once. */
const BATCH = 500

const INSERT = `INSERT OR REPLACE INTO activity (workspace, timeCreated, id, session, type, model, costNanos, tokens, calls)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`
const AFTER = 'activity.workspace = ? AND (activity.timeCreated, activity.id) > (?, ?)'
const LAST = `SELECT timeCreated, id FROM activity WHERE ${AFTER} AND timeCreated < ? ORDER BY timeCreated, id LIMIT 1 OFFSET ?`

/** Writes what counts of a message; to be called in a job. */
export function insertActivity(file: SqliteFile, session: number, record: ActivityRecord): void {
  const { workspace, id, type, model, costNanos, tokens, calls, timeCreated } = record
  file.statement(INSERT).run(workspace, timeCreated, id, session, type, model, costNanos, tokens, calls)
}

interface Row extends CountedRecord {
  readonly session: number
  readonly isRoot: 0 | 1
}

/** See SessionLists.listActivity. */
export async function* listActivity(
  file: SqliteFile,
  workspace: string,
  { from, to, projectId, calls }: ActivityQuery,
): AsyncGenerator<readonly CountedActivity[]> {
  const columns = `session, type, activity.model, activity.costNanos, activity.tokens, activity.timeCreated${calls ? ', calls' : ''}`
  const project = projectId === undefined ? '' : 'AND projectId = ?'
  // With one bound at either end: by a second one at the end, each batch would go on to the end of all.
  const batch = file.statement(
    `SELECT ${columns}, parentId IS NULL AS isRoot FROM activity CROSS JOIN sessions ON number = session
      WHERE ${AFTER} AND (activity.timeCreated, activity.id) <= (?, ?) ${project}
      ORDER BY activity.timeCreated, activity.id`,
  )
  const END = { timeCreated: to, id: '' }
  let after = { timeCreated: from ?? Number.MIN_SAFE_INTEGER, id: '' }
  for (;;) {
    const begin = [workspace, after.timeCreated, after.id] as const
    const last = file.statement(LAST).get(...begin, to, BATCH - 1) as typeof after | undefined
    const { timeCreated, id } = last ?? END
    const rows = batch.all(
      ...begin,
      timeCreated,
      id,
      ...(projectId === undefined ? [] : [projectId]),
    ) as unknown as Row[]
    yield rows.map((row) => toCounted(row, row.session, row.isRoot === 1))
    if (last === undefined) return
    after = last
    await setImmediate()
  }
}
