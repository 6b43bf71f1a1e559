import type { SQLInputValue } from 'node:sqlite'
import type { StoredMessage } from '#services/session/domain/message.ts'
import type { PermissionRequest, PermissionRule } from '#services/session/domain/permission/permission.ts'
import type { Session } from '#services/session/domain/session.ts'
import type { MessageQuery, Page, SessionQuery } from '#services/session/ports/session-lists.ts'
import type { SqliteFile } from '#shared/stores/sqlite.ts'
import type { MessageRecord } from '../common/message-record.ts'
import { type RequestRecord, toRequest } from '../common/records.ts'
import { readsForward, toPage } from '../common/session-lists.ts'
import { type PublicRecord, SESSION_FIELDS, toSession } from '../common/session-record.ts'
import { readStored } from './message-rows.ts'
import { SESSION_NUMBER } from './reads.ts'

const SESSION_COLUMNS = SESSION_FIELDS.join(', ')

export function listSessions(file: SqliteFile, workspace: string, query: SessionQuery): Page<Session> {
  const where = ['workspace = ?']
  const values: SQLInputValue[] = [workspace]
  const add = (condition: string, ...more: SQLInputValue[]): void => {
    where.push(condition)
    values.push(...more)
  }
  if (query.directory !== undefined) add('directory = ?', query.directory)
  if (query.projectId !== undefined) add('projectId = ?', query.projectId)
  if (query.subpath !== undefined) add('subpath = ?', query.subpath)
  if (query.parentId === null) add('parentId IS NULL')
  else if (query.parentId !== undefined) add('parentId = ?', query.parentId)
  if (query.search !== undefined) add('instr(titleSearch, ?) > 0', query.search.toLowerCase())
  const forward = readsForward(query)
  const { anchor } = query
  if (anchor !== undefined) add(`(timeUpdated, id) ${forward ? '>' : '<'} (?, ?)`, anchor.timeUpdated, anchor.id)
  const direction = forward ? 'ASC' : 'DESC'
  // sessionsByTime holds parent and project too, so that these filters pass over entries of one index.
  const index = query.directory === undefined ? 'sessionsByTime' : 'sessionsByDirectory'
  const sql = `SELECT ${SESSION_COLUMNS} FROM sessions INDEXED BY ${index} WHERE ${where.join(' AND ')}
    ORDER BY timeUpdated ${direction}, id ${direction} LIMIT ?`
  const rows = file.statement(sql).all(...values, query.limit + 1)
  return toPage(rows as unknown as PublicRecord[], query, toSession)
}

export function listMessages(
  file: SqliteFile,
  workspace: string,
  sessionId: string,
  query: MessageQuery,
): Page<StoredMessage> {
  const forward = readsForward(query)
  const from = query.anchor?.seq ?? (forward ? 0 : Number.MAX_SAFE_INTEGER)
  const sql = `SELECT * FROM messages WHERE session = ${SESSION_NUMBER} AND seq ${forward ? '>' : '<'} ?
    ORDER BY seq ${forward ? 'ASC' : 'DESC'} LIMIT ?`
  const rows = file.statement(sql).all(workspace, sessionId, from, query.limit + 1)
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

/** Approvals saved for a project, as rules. */
export function savedApprovals(file: SqliteFile, workspace: string, projectId: string): PermissionRule[] {
  const sql = `SELECT action, pattern AS resource, 'allow' AS effect FROM approvals WHERE workspace = ? AND projectId = ?`
  return file.statement(sql).all(workspace, projectId) as unknown as PermissionRule[]
}
