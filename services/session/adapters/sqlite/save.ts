import type { SQLInputValue } from 'node:sqlite'
import type { Revision } from '#services/session/domain/revision.ts'
import type { Write } from '#services/session/domain/write.ts'
import type { SqliteFile } from '#shared/stores/sqlite.ts'
import { activityRecord } from '../common/activity-record.ts'
import { descriptionRecord } from '../common/description-record.ts'
import { eventRecord } from '../common/event-record.ts'
import { inboxRecord, settledUpdate } from '../common/inbox-record.ts'
import {
  type MessageRecord,
  messageRecord,
  messageUpdate,
  type PartRecord,
  partRecords,
} from '../common/message-record.ts'
import { approvalRecord, requestRecord } from '../common/records.ts'
import { type SessionRecord, STATE_FIELDS, toStateChanges } from '../common/session-record.ts'
import { insertActivity } from './activity.ts'
import { useBlobs } from './blob-uses.ts'
import type { SqliteEventLog } from './event-log.ts'

/** A session, and its number in the file. */
export interface SessionKey {
  readonly workspace: string
  readonly id: string
  readonly number: number
}

const insertSession = inserter('sessions', [
  'number',
  ...STATE_FIELDS,
  ...(['workspace', 'parentId', 'fork', 'title', 'titleSearch', 'metadata', 'permissions'] as const),
  ...(['leaseOwner', 'timeCreated', 'timeArchived'] as const),
])
const insertItem = inserter('inbox', [
  ...(['session', 'workspace', 'id', 'sessionId', 'seq', 'kind', 'state', 'delivery', 'data', 'digest'] as const),
  ...(['admitter', 'timeCreated', 'timeSettled'] as const),
])
const insertMessage = inserter('messages', [
  ...(['session', 'workspace', 'id', 'sessionId', 'seq', 'type', 'data', 'unfinished', 'attempt'] as const),
  'timeCreated',
])
const putPart = `INSERT INTO parts (workspace, message, attempt, ordinal, data) VALUES (?, ?, ?, ?, ?)
  ON CONFLICT DO UPDATE SET data = excluded.data`
const insertRequest = inserter('requests', [
  ...(['session', 'workspace', 'id', 'sessionId', 'seq', 'data', 'reply', 'message'] as const),
  ...(['timeCreated', 'timeExpires'] as const),
])
const insertApproval = `INSERT OR IGNORE INTO approvals (workspace, projectId, action, pattern, id)
  VALUES (?, ?, ?, ?, ?)`
const settleItem = 'UPDATE inbox SET state = ?, timeSettled = ? WHERE workspace = ? AND id = ?'
const redeliverItem = 'UPDATE inbox SET delivery = ? WHERE workspace = ? AND id = ?'
const updateMessage = 'UPDATE messages SET data = ?, unfinished = ?, attempt = ? WHERE workspace = ? AND id = ?'
const answerRequest = 'UPDATE requests SET reply = ?, message = ? WHERE workspace = ? AND id = ?'

/** Writes what a revision changes; to be called in a job. */
export function saveRevision(file: SqliteFile, log: SqliteEventLog, session: SessionKey, revision: Revision): void {
  for (const write of revision.writes) save(file, log, session, write)
  const changes = toStateChanges(revision.changes) as Readonly<Record<string, SQLInputValue>>
  if (Object.keys(changes).length > 0) updateSession(file, session.number, changes)
}

/** Writes a new session and the events of its creation; to be called in a job. */
export function saveNewSession(
  file: SqliteFile,
  log: SqliteEventLog,
  record: SessionRecord & { readonly number: number },
  revision: Revision,
): void {
  const { workspace, id, number } = record
  insertSession(file, record)
  for (const write of revision.writes) save(file, log, { workspace, id, number }, write)
}

function save(file: SqliteFile, log: SqliteEventLog, session: SessionKey, write: Write): void {
  const { workspace, id: sessionId, number } = session
  switch (write.type) {
    case 'admit': {
      const item = inboxRecord(workspace, write)
      insertItem(file, { session: number, ...item })
      useBlobs(file, workspace, item.id, item.data)
      break
    }
    case 'deliver':
    case 'cancel': {
      const { state, timeSettled } = settledUpdate(write)
      file.statement(settleItem).run(state, timeSettled, workspace, write.id)
      break
    }
    case 'redeliver':
      file.statement(redeliverItem).run(write.delivery, workspace, write.id)
      break
    case 'insert':
      saveMessage(file, number, messageRecords(workspace, sessionId, write))
      break
    case 'update':
      if (write.own) {
        const { data, unfinished, attempt } = messageUpdate(write.message)
        file.statement(updateMessage).run(data, unfinished, attempt, workspace, write.message.id)
      }
      saveParts(file, partRecords(workspace, write))
      break
    case 'event':
      log.append(eventRecord(workspace, sessionId, write), number)
      break
    case 'count':
      insertActivity(file, number, activityRecord(workspace, sessionId, write))
      break
    case 'ask':
      insertRequest(file, { session: number, ...requestRecord(workspace, write) })
      break
    case 'answer':
      file.statement(answerRequest).run(write.answer.reply, write.answer.message, workspace, write.requestId)
      break
    case 'approve': {
      const { id, projectId, action, pattern } = approvalRecord(workspace, write)
      file.statement(insertApproval).run(workspace, projectId, action, pattern, id)
      break
    }
    case 'describe':
      updateSession(file, number, descriptionRecord(write))
  }
}

/** The records of a new message. */
export interface MessageRecords {
  readonly message: MessageRecord
  readonly parts: readonly PartRecord[]
}

export function messageRecords(
  workspace: string,
  sessionId: string,
  write: Extract<Write, { type: 'insert' }>,
): MessageRecords {
  return { message: messageRecord(workspace, sessionId, write), parts: partRecords(workspace, write) }
}

/** Writes a new message; to be called in a job. */
export function saveMessage(file: SqliteFile, session: number, { message, parts }: MessageRecords): void {
  insertMessage(file, { session, ...message })
  useBlobs(file, message.workspace, message.id, message.data)
  saveParts(file, parts)
}

function updateSession(file: SqliteFile, number: number, changes: Readonly<Record<string, SQLInputValue>>): void {
  const sql = `UPDATE sessions SET ${Object.keys(changes).join(' = ?, ')} = ? WHERE number = ?`
  file.statement(sql).run(...Object.values(changes), number)
}

function saveParts(file: SqliteFile, parts: readonly PartRecord[]): void {
  for (const { workspace, message, attempt, ordinal, data } of parts) {
    file.statement(putPart).run(workspace, message, attempt, ordinal, data)
    useBlobs(file, workspace, message, data)
  }
}

/** The text of an insert is made once. */
function inserter<K extends string>(table: string, columns: readonly K[]) {
  const sql = `INSERT INTO ${table} (${columns.join(', ')}) VALUES (${columns.map(() => '?').join(', ')})`
  return (file: SqliteFile, record: Readonly<Record<K, SQLInputValue>>): void => {
    file.statement(sql).run(...columns.map((column) => record[column]))
  }
}
