import type { StoredMessage } from '#services/session/domain/message.ts'
import type { PermissionRequest } from '#services/session/domain/permission/permission.ts'
import type { MessageQuery, Page } from '#services/session/ports/session-lists.ts'
import type { SqliteFile } from '#shared/stores/sqlite.ts'
import type { MessageRecord } from '../common/message-record.ts'
import { type RequestRecord, toRequest } from '../common/records.ts'
import { readsForward, toPage } from '../common/session-lists.ts'
import { readStored } from './message-rows.ts'
import { readState, SESSION_NUMBER } from './reads.ts'

/** Undefined: no such session. */
export function listMessages(
  file: SqliteFile,
  workspace: string,
  sessionId: string,
  query: MessageQuery,
): Page<StoredMessage> | undefined {
  const forward = readsForward(query)
  const from = query.anchor?.seq ?? (forward ? 0 : Number.MAX_SAFE_INTEGER)
  const type = query.type === undefined ? [] : [query.type]
  const sql = `SELECT * FROM messages WHERE session = ${SESSION_NUMBER} AND seq ${forward ? '>' : '<'} ?
    ${type.length === 0 ? '' : 'AND type = ?'} ORDER BY seq ${forward ? 'ASC' : 'DESC'} LIMIT ?`
  const rows = file.statement(sql).all(workspace, sessionId, from, ...type, query.limit + 1)
  if (rows.length === 0 && readState(file, workspace, sessionId) === undefined) return undefined
  return toPage(rows as unknown as MessageRecord[], query, (record) => readStored(file, record))
}

export function listPermissionRequests(
  file: SqliteFile,
  workspace: string,
  sessionId: string | undefined,
  now: number,
): PermissionRequest[] {
  const session = sessionId === undefined ? '' : 'AND sessionId = ?'
  const order = sessionId === undefined ? 'timeCreated, seq' : 'seq'
  const sql = `SELECT * FROM requests WHERE workspace = ? AND reply IS NULL AND timeExpires > ? ${session}
    ORDER BY ${order} LIMIT 1000`
  const values = sessionId === undefined ? [workspace, now] : [workspace, now, sessionId]
  return (file.statement(sql).all(...values) as unknown as RequestRecord[]).map(toRequest)
}

/** Sessions of a workspace with a live lease. */
export function listActive(file: SqliteFile, workspace: string, now: number): string[] {
  const sql = 'SELECT id FROM sessions WHERE workspace = ? AND leaseUntil > 0 AND leaseUntil > ?'
  return file
    .statement(sql)
    .all(workspace, now)
    .map(({ id }) => id as string)
}
