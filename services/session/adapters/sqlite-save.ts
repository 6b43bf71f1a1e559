import type { SQLInputValue } from 'node:sqlite'
import type { SqliteFile } from '#shared/sqlite.ts'
import type { Revision, Write } from '../domain/revision.ts'
import { admittedRecord, eventRecord, messageRecord, messageUpdate, requestRecord } from './records.ts'
import { type SessionRecord, toStateChanges } from './session-record.ts'

type Statement = readonly [sql: string, values: readonly SQLInputValue[]]
type Row = Readonly<Record<string, SQLInputValue>>

/** Writes what a revision changes; to be called in a job. */
export function saveRevision(file: SqliteFile, workspace: string, sessionId: string, revision: Revision): void {
  saveWrites(file, workspace, sessionId, revision)
  const changes = toStateChanges(revision.changes) as Row
  const columns = Object.keys(changes)
  if (columns.length === 0) return
  const sql = `UPDATE sessions SET ${columns.join(' = ?, ')} = ? WHERE workspace = ? AND id = ?`
  file.statement(sql).run(...Object.values(changes), workspace, sessionId)
}

/** Writes a new session and what a revision of it changes; to be called in a job. */
export function saveNewSession(file: SqliteFile, session: SessionRecord, revision: Revision): void {
  const [sql, values] = insert('sessions', session)
  file.statement(sql).run(...values)
  saveWrites(file, session.workspace, session.id, revision)
}

function saveWrites(file: SqliteFile, workspace: string, sessionId: string, revision: Revision): void {
  for (const write of revision.writes) {
    const [sql, values] = toStatement(workspace, sessionId, write)
    file.statement(sql).run(...values)
  }
}

function toStatement(workspace: string, sessionId: string, write: Write): Statement {
  switch (write.type) {
    case 'admit':
      return insert('messages', admittedRecord(workspace, write))
    case 'deliver':
      return [
        'UPDATE messages SET seq = ?, timeDelivered = ? WHERE workspace = ? AND id = ?',
        [write.seq, write.timeDelivered, workspace, write.id],
      ]
    case 'insert':
      return insert('messages', messageRecord(workspace, sessionId, write))
    case 'update': {
      const { data, unfinished } = messageUpdate(write.message)
      return [
        'UPDATE messages SET data = ?, unfinished = ? WHERE workspace = ? AND id = ?',
        [data, unfinished, workspace, write.message.id],
      ]
    }
    case 'event':
      return insert('events', eventRecord(workspace, sessionId, write))
    case 'ask':
      return insert('requests', requestRecord(workspace, write))
    case 'answer':
      return [
        'UPDATE requests SET reply = ?, message = ? WHERE workspace = ? AND id = ?',
        [write.answer.reply, write.answer.message, workspace, write.requestId],
      ]
    case 'approve':
      return [
        'INSERT OR IGNORE INTO approvals (workspace, projectId, action, pattern) VALUES (?, ?, ?, ?)',
        [workspace, write.projectId, write.action, write.pattern],
      ]
  }
}

/** The members of a record are made in one place, so that there is one text for each table. */
function insert(table: string, record: object): Statement {
  const columns = Object.keys(record)
  const sql = `INSERT INTO ${table} (${columns.join(', ')}) VALUES (${columns.map(() => '?').join(', ')})`
  return [sql, Object.values(record as Row)]
}
