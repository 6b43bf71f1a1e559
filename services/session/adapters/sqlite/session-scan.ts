import type { SessionQuery } from '#services/session/ports/session-lists.ts'
import type { SqliteFile } from '#shared/stores/sqlite.ts'
import type { Place } from '../common/place.ts'
import type { PublicRecord } from '../common/session-record.ts'
import { all, between, type Condition, type SessionPlan } from './session-plan.ts'
import { SESSION_COLUMNS, type SessionRow, toPublicRecord } from './session-rows.ts'

/**
 * Entries of an index that are gone through at once: the first time, and at most. A thousand take about a millisecond.
 */
const FIRST_PIECE = 256
const LARGEST_PIECE = 4_096

/** The sessions of a list whose filters are those of its indexes. */
export function readSessions(file: SqliteFile, plan: SessionPlan, query: SessionQuery): PublicRecord[] {
  return select(file, plan, query, between(query, query.after, undefined), query.limit)
}

/**
 * Goes through the entries of a list's indexes, piece by piece, and returns the sessions that the other filters let
 * through.
 */
export function* scanSessions(
  file: SqliteFile,
  plan: SessionPlan,
  query: SessionQuery,
): Generator<number, PublicRecord[]> {
  const found: PublicRecord[] = []
  let after: Place | undefined = query.after
  for (let size = FIRST_PIECE; ; size = Math.min(2 * size, LARGEST_PIECE)) {
    const last = lastOf(file, plan, query, between(query, after, undefined), size)
    found.push(...select(file, plan, query, between(query, after, last), query.limit - found.length))
    if (last === undefined || found.length === query.limit) return found
    after = last
    yield size
  }
}

/** The last entry of a piece; undefined when there are fewer. */
function lastOf(
  file: SqliteFile,
  { sources }: SessionPlan,
  query: SessionQuery,
  range: Condition | undefined,
  size: number,
): Place | undefined {
  const { sql, values } = ordered('timeUpdated, id', { sources, rest: undefined }, query, range)
  return file.statement(`${sql} LIMIT 1 OFFSET ?`).get(...values, size - 1) as Place | undefined
}

function select(
  file: SqliteFile,
  plan: SessionPlan,
  query: SessionQuery,
  range: Condition | undefined,
  limit: number,
): PublicRecord[] {
  const { sql, values } = ordered(SESSION_COLUMNS, plan, query, range)
  const rows = file.rows(`${sql} LIMIT ?`).all(...values, limit) as unknown as SessionRow[]
  return rows.map(toPublicRecord)
}

function ordered(columns: string, plan: SessionPlan, query: SessionQuery, range: Condition | undefined): Condition {
  const parts = plan.sources.map(({ index, where }) => {
    const condition = all([where, range, plan.rest])
    return { ...condition, sql: `SELECT ${columns} FROM sessions INDEXED BY ${index} WHERE ${condition.sql}` }
  })
  const direction = query.order === 'ascending' ? 'ASC' : 'DESC'
  const sql = parts.map((part) => part.sql).join(' UNION ALL ')
  const order = `ORDER BY timeUpdated ${direction}, id ${direction}`
  return { sql: `${sql} ${order}`, values: parts.flatMap(({ values }) => values) }
}
