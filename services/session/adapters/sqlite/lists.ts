import { setImmediate } from 'node:timers/promises'
import type { PermissionRequest } from '#services/session/domain/permission/permission.ts'
import { type MessagePage, type MessageQuery, RECORD_BYTES } from '#services/session/ports/session-lists.ts'
import type { SqliteFile } from '#shared/stores/sqlite.ts'
import { selectAll } from '#shared/stores/sqlite-table.ts'
import { fitting, readsForward, type Sized, toPage } from '../common/session-lists.ts'
import { messages } from '../tables/messages.ts'
import { requests, toRequests } from '../tables/permissions.ts'
import { readStored } from './message-rows.ts'

/** What is read of a message, in bytes; long texts are not read for it. */
const SIZE = `octet_length(data) + ${RECORD_BYTES} + (SELECT coalesce(sum(octet_length(parts.data) + ${RECORD_BYTES}), 0)
  FROM parts WHERE parts.workspace = messages.workspace AND message = messages.id AND attempt = messages.attempt) AS bytes`

/** Undefined: no such session. */
export function listMessages(
  file: SqliteFile,
  workspace: string,
  sessionId: string,
  query: MessageQuery,
): MessagePage | undefined {
  const found = file.statement('SELECT number FROM sessions WHERE workspace = ? AND id = ?').get(workspace, sessionId)
  if (found === undefined) return undefined
  const number = found.number as number
  const forward = readsForward(query)
  const from = query.anchor?.seq ?? (forward ? 0 : Number.MAX_SAFE_INTEGER)
  const type = query.type === undefined ? [] : [query.type]
  const rest = `FROM messages WHERE session = ? AND seq ${forward ? '>' : '<'} ?
    ${type.length === 0 ? '' : 'AND type = ?'} ORDER BY seq ${forward ? 'ASC' : 'DESC'} LIMIT ?`
  const values = [number, from, ...type] as const
  const most = query.limit + 1
  const sizes = query.bytes === undefined ? [] : file.statement(`SELECT ${SIZE} ${rest}`).iterate(...values, most)
  const { count, all } = fitting(sizes as Iterable<Sized>, query.bytes)
  const records = selectAll(file, messages.columns, rest, ...values, all ? most : count)
  const page = toPage(records, query, (record) => readStored(file, record))
  return { ...page, more: page.more || !all, incarnation: String(number) }
}

/** See SessionLists. */
export function sessionOfRequest(file: SqliteFile, workspace: string, id: string, now: number): string | undefined {
  const sql = 'SELECT sessionId FROM requests WHERE workspace = ? AND id = ? AND reply IS NULL AND timeExpires > ?'
  return file.statement(sql).get(workspace, id, now)?.sessionId as string | undefined
}

export function listPermissionRequests(
  file: SqliteFile,
  workspace: string,
  sessionId: string | undefined,
  now: number,
): PermissionRequest[] {
  const session = sessionId === undefined ? '' : 'AND sessionId = ?'
  const order = sessionId === undefined ? 'timeCreated, seq' : 'seq'
  const waiting = `FROM requests WHERE workspace = ? AND reply IS NULL AND timeExpires > ? ${session}
    ORDER BY ${order} LIMIT 1000`
  const values = sessionId === undefined ? [workspace, now] : [workspace, now, sessionId]
  return toRequests(selectAll(file, requests.columns, waiting, ...values))
}

/** How many of the waiting requests are read at once. */
const BATCH = 256

/** See SessionLists.waitingRequests. */
export async function* waitingRequests(
  file: SqliteFile,
  workspace: string,
  now: number,
): AsyncGenerator<readonly PermissionRequest[]> {
  const waiting = `FROM requests WHERE workspace = ? AND reply IS NULL AND timeExpires > ?
    AND (timeCreated, seq, id) > (?, ?, ?) ORDER BY timeCreated, seq, id LIMIT ${BATCH}`
  let after: readonly [number, number, string] = [0, 0, '']
  for (;;) {
    const records = selectAll(file, requests.columns, waiting, workspace, now, ...after)
    yield toRequests(records)
    const last = records.at(-1)
    if (last === undefined || records.length < BATCH) return
    after = [last.timeCreated, last.seq, last.id]
    await setImmediate()
  }
}

/** Sessions of a workspace with a live lease. */
export function listActive(file: SqliteFile, workspace: string, now: number): string[] {
  const sql = 'SELECT id FROM sessions WHERE workspace = ? AND leaseUntil > 0 AND leaseUntil > ?'
  return file
    .statement(sql)
    .all(workspace, now)
    .map(({ id }) => id as string)
}
