import { setImmediate } from 'node:timers/promises'
import type { Session } from '#gen/portico/session/v1/session_pb.js'
import { Order } from '#gen/portico/session/v1/session_service_pb.js'
import type { Place, SessionQuery, UnreadableSession } from '#services/session/ports/session-lists.ts'
import type { SqliteFile } from '#shared/stores/sqlite.ts'
import { columnList, selectAll } from '#shared/stores/sqlite-table.ts'
import { withFoldedSearch } from '../common/fold-case.ts'
import { type PublicRecord, sessionColumns, toListed } from '../tables/sessions.ts'
import { all, between, type Condition, planOf, type SessionPlan } from './session-plan.ts'

/** Entries of an index that are gone through in one piece: the first time, and at most. */
const FIRST_PIECE = 256
const LARGEST_PIECE = 4_096
/** After a piece that took less than this, in milliseconds, the next is larger; after twice as much, it is smaller. */
const PIECE_MS = 2

/** See SessionLists.listSessions. */
export async function* listSessions(
  file: SqliteFile,
  workspace: string,
  unfolded: SessionQuery,
): AsyncGenerator<readonly (Session | UnreadableSession)[]> {
  const query = withFoldedSearch(unfolded)
  const plan = planOf(workspace, query)
  if (plan.rest === undefined) {
    yield select(file, plan, query, between(query, query.after, undefined), query.limit).map(toListed)
    return
  }
  // A session that moves on meanwhile is found again.
  const records = new Map<string, PublicRecord>()
  let { after } = query
  for (let size = FIRST_PIECE; ; ) {
    const began = performance.now()
    const last = lastOf(file, plan, query, between(query, after, undefined), size)
    for (const record of select(file, plan, query, between(query, after, last), query.limit - records.size)) {
      records.delete(record.sessionId)
      records.set(record.sessionId, record)
    }
    if (last === undefined || records.size === query.limit) break
    after = last
    const took = performance.now() - began
    if (took < PIECE_MS) size = Math.min(2 * size, LARGEST_PIECE)
    else if (took > 2 * PIECE_MS) size = Math.max(size / 2, FIRST_PIECE)
    yield []
    await setImmediate()
  }
  yield [...records.values()].map(toListed)
}

/** The last entry of a piece; undefined when there are fewer. */
function lastOf(
  file: SqliteFile,
  { sources }: SessionPlan,
  query: SessionQuery,
  range: Condition | undefined,
  size: number,
): Place | undefined {
  const columns = 'updateTime, sessionId'
  const { sql, values } = ordered(columns, { sources, rest: undefined }, query, range)
  return file.statement(`SELECT ${columns} ${sql} LIMIT 1 OFFSET ?`).get(...values, size - 1) as Place | undefined
}

function select(
  file: SqliteFile,
  plan: SessionPlan,
  query: SessionQuery,
  range: Condition | undefined,
  limit: number,
): PublicRecord[] {
  const { sql, values } = ordered(columnList(sessionColumns), plan, query, range)
  return selectAll(file, sessionColumns, `${sql} LIMIT ?`, ...values, limit)
}

/** What follows the columns in the statement. */
function ordered(columns: string, plan: SessionPlan, query: SessionQuery, range: Condition | undefined): Condition {
  const parts = plan.sources.map(({ index, where }) => {
    const condition = all([where, range, plan.rest])
    return { ...condition, sql: `FROM sessions INDEXED BY ${index} WHERE ${condition.sql}` }
  })
  const direction = query.order === Order.ASCENDING ? 'ASC' : 'DESC'
  const sql = parts.map((part) => part.sql).join(` UNION ALL SELECT ${columns} `)
  const order = `ORDER BY updateTime ${direction}, sessionId ${direction}`
  return { sql: `${sql} ${order}`, values: parts.flatMap(({ values }) => values) }
}
