import type { SQLInputValue } from 'node:sqlite'
import type { Revision, Write } from '#services/session/domain/revision.ts'
import type { SqliteFile } from '#shared/stores/sqlite.ts'
import {
  admittedRecord,
  eventRecord,
  type MessageRecord,
  messageRecord,
  messageUpdate,
  requestRecord,
} from '../common/records.ts'
import { type SessionRecord, STATE_FIELDS, toStateChanges } from '../common/session-record.ts'
import type { SqliteEventLog } from './event-log.ts'

/** A session, and its number in the file. */
export interface SessionKey {
  readonly workspace: string
  readonly id: string
  readonly number: number
}

const insertSession = inserter('sessions', [
  ...STATE_FIELDS,
  ...(['workspace', 'parentId', 'subpath', 'title', 'titleSearch', 'metadata', 'permissions'] as const),
  ...(['leaseOwner', 'timeCreated'] as const),
])
const insertMessage = inserter('messages', [
  ...(['session', 'workspace', 'id', 'sessionId', 'seq', 'type', 'data', 'unfinished'] as const),
  ...(['admitted', 'delivery', 'digest', 'admitter', 'timeCreated', 'timeDelivered'] as const),
])
const insertRequest = inserter('requests', [
  ...(['workspace', 'id', 'sessionId', 'seq', 'data', 'reply', 'message', 'timeCreated', 'timeExpires'] as const),
])
const insertApproval = 'INSERT OR IGNORE INTO approvals (workspace, projectId, action, pattern) VALUES (?, ?, ?, ?)'
const deliver = 'UPDATE messages SET seq = ?, timeDelivered = ? WHERE workspace = ? AND id = ?'
const updateMessage = 'UPDATE messages SET data = ?, unfinished = ? WHERE workspace = ? AND id = ?'
const answerRequest = 'UPDATE requests SET reply = ?, message = ? WHERE workspace = ? AND id = ?'

/** Writes what a revision changes; to be called in a job. */
export function saveRevision(file: SqliteFile, log: SqliteEventLog, session: SessionKey, revision: Revision): void {
  for (const write of revision.writes) save(file, log, session, write)
  const changes = toStateChanges(revision.changes) as Readonly<Record<string, SQLInputValue>>
  const columns = Object.keys(changes)
  if (columns.length === 0) return
  const sql = `UPDATE sessions SET ${columns.join(' = ?, ')} = ? WHERE number = ?`
  file.statement(sql).run(...Object.values(changes), session.number)
}

/** Writes a new session and the events of its creation; to be called in a job. */
export function saveNewSession(file: SqliteFile, log: SqliteEventLog, record: SessionRecord, revision: Revision): void {
  const { workspace, id } = record
  const number = insertSession(file, record)
  for (const write of revision.writes) save(file, log, { workspace, id, number }, write)
}

function save(file: SqliteFile, log: SqliteEventLog, session: SessionKey, write: Write): void {
  const { workspace, id: sessionId, number } = session
  const message = (record: MessageRecord) => insertMessage(file, { session: number, ...record })
  switch (write.type) {
    case 'admit':
      message(admittedRecord(workspace, write))
      break
    case 'deliver':
      file.statement(deliver).run(write.seq, write.timeDelivered, workspace, write.id)
      break
    case 'insert':
      message(messageRecord(workspace, sessionId, write))
      break
    case 'update': {
      const { data, unfinished } = messageUpdate(write.message)
      file.statement(updateMessage).run(data, unfinished, workspace, write.message.id)
      break
    }
    case 'event':
      log.append(eventRecord(workspace, sessionId, write))
      break
    case 'ask':
      insertRequest(file, requestRecord(workspace, write))
      break
    case 'answer':
      file.statement(answerRequest).run(write.answer.reply, write.answer.message, workspace, write.requestId)
      break
    case 'approve':
      file.statement(insertApproval).run(workspace, write.projectId, write.action, write.pattern)
  }
}

/** The text of an insert is made once. What it makes answers the row's number. */
function inserter<K extends string>(table: string, columns: readonly K[]) {
  const sql = `INSERT INTO ${table} (${columns.join(', ')}) VALUES (${columns.map(() => '?').join(', ')})`
  return (file: SqliteFile, record: Readonly<Record<K, SQLInputValue>>): number =>
    Number(file.statement(sql).run(...columns.map((column) => record[column])).lastInsertRowid)
}
