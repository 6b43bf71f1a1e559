import { setImmediate } from 'node:timers/promises'
import type { CountedActivity } from '#services/session/domain/stats/stats.ts'
import type { ActivityQuery } from '#services/session/ports/session-lists.ts'
import type { SqliteFile } from '#shared/stores/sqlite.ts'
import { columnList, selectAll } from '#shared/stores/sqlite-table.ts'
import { flag, integer } from '#shared/stores/table.ts'
import { callColumns, countedColumns, toCounted } from '../tables/activity.ts'

/** Rows that are read at once. */
const BATCH = 500

const AFTER = 'activity.workspace = ? AND (activity.timeCreated, activity.id) > (?, ?)'
const LAST = `SELECT timeCreated, id FROM activity WHERE ${AFTER} AND timeCreated < ? ORDER BY timeCreated, id LIMIT 1 OFFSET ?`

/** See SessionLists.listActivity. */
export async function* listActivity(
  file: SqliteFile,
  workspace: string,
  { from, to, projectId, calls }: ActivityQuery,
): AsyncGenerator<readonly CountedActivity[]> {
  const columns = { session: integer(), ...(calls ? callColumns : countedColumns) }
  const project = projectId === undefined ? [] : [projectId]
  // With one bound at either end: by a second one at the end, each batch would go on to the end of all.
  const batch = `FROM (SELECT ${columnList(columns, 'activity')}, parentId IS NULL AS isRoot
    FROM activity CROSS JOIN sessions ON number = session
    WHERE ${AFTER} AND (activity.timeCreated, activity.id) <= (?, ?) ${project.length === 0 ? '' : 'AND projectId = ?'}
    ORDER BY activity.timeCreated, activity.id)`
  const END = { timeCreated: to, id: '' }
  let after = { timeCreated: from ?? Number.MIN_SAFE_INTEGER, id: '' }
  for (;;) {
    const begin = [workspace, after.timeCreated, after.id] as const
    const last = file.statement(LAST).get(...begin, to, BATCH - 1) as typeof after | undefined
    const { timeCreated, id } = last ?? END
    const rows = selectAll(file, { ...columns, isRoot: flag() }, batch, ...begin, timeCreated, id, ...project)
    yield rows.map((row) => toCounted(row, row.session, row.isRoot === 1))
    if (last === undefined) return
    after = last
    await setImmediate()
  }
}
