import type { SQLInputValue } from 'node:sqlite'
import type { Revision } from '#services/session/domain/revision.ts'
import type { Write } from '#services/session/domain/write.ts'
import type { SqliteFile } from '#shared/stores/sqlite.ts'
import { activityRecord } from '../common/activity-record.ts'
import { descriptionRecord } from '../common/description-record.ts'
import { type EventRecord, shortEventRecord } from '../common/event-record.ts'
import { inboxRecord, settledUpdate } from '../common/inbox-record.ts'
import {
  type MessageRecord,
  messageRecord,
  messageUpdate,
  type PartRecord,
  partRecords,
} from '../common/message-record.ts'
import { approvalRecord, requestRecord } from '../common/records.ts'
import type { SessionRecord } from '../common/session-record.ts'
import { toStateChanges } from '../common/to-session-record.ts'
import { insertActivity } from './activity.ts'
import { useBlobs } from './blob-uses.ts'
import type { SqliteEventLog } from './events/event-log.ts'
import { insertOf, values } from './insert-rows.ts'
import type { StoreParts } from './store-parts.ts'

/** A session, and its number in the file. */
export interface NumberedKey {
  readonly workspace: string
  readonly id: string
  readonly number: number
}

const insertSession = `INSERT INTO sessions (number, workspace, id, parentId, fork, title, titleSearch, agent, model, directory, projectId,
    subpath, metadata, permissions, costNanos, tokens, outcome, timeCreated, timeUpdated, timeIdle, timeViewed, timeArchived, titling, seq,
    due, wake, running, interruptRequested, lastAdmitter, fence, attempts, leaseOwner, leaseUntil, claimableAt)
  VALUES (${values(34)})`
const insertItem = `INSERT INTO inbox (session, workspace, id, sessionId, seq, kind, state, delivery, data, digest, admitter, timeCreated,
    timeSettled)
  VALUES (${values(13)})`
const insertMessage = `INSERT INTO messages (session, workspace, id, sessionId, seq, type, data, unfinished, attempt, timeCreated)
  VALUES (${values(10)})`
const putParts = insertOf(
  'parts (workspace, message, attempt, ordinal, data)',
  5,
  'ON CONFLICT DO UPDATE SET data = excluded.data',
)
const insertRequest = `INSERT INTO requests (session, workspace, id, sessionId, seq, data, reply, message, timeCreated, timeExpires)
  VALUES (${values(10)})`
const insertApproval = `INSERT OR IGNORE INTO approvals (workspace, projectId, action, pattern, id)
  VALUES (?, ?, ?, ?, ?)`
const settleItem = 'UPDATE inbox SET state = ?, timeSettled = ? WHERE workspace = ? AND id = ?'
const redeliverItem = 'UPDATE inbox SET delivery = ? WHERE workspace = ? AND id = ?'
const updateMessage = 'UPDATE messages SET data = ?, unfinished = ?, attempt = ? WHERE workspace = ? AND id = ?'
const answerRequest = 'UPDATE requests SET reply = ?, message = ? WHERE workspace = ? AND id = ?'

/** Writes what a revision changes; to be called in a job. */
export function saveRevision(file: SqliteFile, log: SqliteEventLog, session: NumberedKey, revision: Revision): void {
  saveWrites(file, log, session, revision.writes)
  const changes = toStateChanges(revision.changes) as Readonly<Record<string, SQLInputValue>>
  if (Object.keys(changes).length > 0) updateSession(file, session.number, changes)
}

/** Writes a new session and the events of its creation; to be called in a job. */
export function saveNewSession(
  { file, log }: Pick<StoreParts, 'file' | 'log'>,
  number: number,
  record: SessionRecord,
  revision: Revision,
): void {
  const { workspace, id } = record
  saveSession(file, number, record)
  saveWrites(file, log, { workspace, id, number }, revision.writes)
}

// Values are named one by one: gathering them by the names of the columns takes as long as SQLite itself.

// biome-ignore format: as in the statement.
function saveSession(file: SqliteFile, number: number, of: SessionRecord): void {
  file.statement(insertSession).run(
    number, of.workspace, of.id, of.parentId, of.fork, of.title, of.titleSearch, of.agent, of.model, of.directory, of.projectId,
    of.subpath, of.metadata, of.permissions, of.costNanos, of.tokens, of.outcome, of.timeCreated, of.timeUpdated, of.timeIdle,
    of.timeViewed, of.timeArchived, of.titling, of.seq, of.due, of.wake, of.running, of.interruptRequested, of.lastAdmitter, of.fence,
    of.attempts, of.leaseOwner, of.leaseUntil, of.claimableAt,
  )
}

function saveWrites(file: SqliteFile, log: SqliteEventLog, session: NumberedKey, writes: readonly Write[]): void {
  const events: EventRecord[] = []
  for (const write of writes) {
    if (write.type === 'event') events.push(shortEventRecord(session.workspace, session.id, write))
    else save(file, session, write)
  }
  log.append(events, session.number)
}

function save(file: SqliteFile, session: NumberedKey, write: Exclude<Write, { type: 'event' }>): void {
  const { workspace, id: sessionId, number } = session
  switch (write.type) {
    case 'admit': {
      const item = inboxRecord(workspace, write)
      const { id, seq, kind, state, delivery, data, digest, admitter, timeCreated, timeSettled } = item
      const what = [kind, state, delivery, data, digest, admitter] as const
      file.statement(insertItem).run(number, workspace, id, sessionId, seq, ...what, timeCreated, timeSettled)
      useBlobs(file, workspace, id, data)
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
    case 'count':
      insertActivity(file, number, activityRecord(workspace, sessionId, write))
      break
    case 'request': {
      const { id, seq, data, reply, message, timeCreated, timeExpires } = requestRecord(workspace, write)
      const times = [timeCreated, timeExpires] as const
      file.statement(insertRequest).run(number, workspace, id, sessionId, seq, data, reply, message, ...times)
      break
    }
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
  const { workspace, id, sessionId, seq, type, data, unfinished, attempt, timeCreated } = message
  const what = [type, data, unfinished, attempt] as const
  file.statement(insertMessage).run(session, workspace, id, sessionId, seq, ...what, timeCreated)
  useBlobs(file, workspace, id, data)
  saveParts(file, parts)
}

function updateSession(file: SqliteFile, number: number, changes: Readonly<Record<string, SQLInputValue>>): void {
  const sql = `UPDATE sessions SET ${Object.keys(changes).join(' = ?, ')} = ? WHERE number = ?`
  file.statement(sql).run(...Object.values(changes), number)
}

function saveParts(file: SqliteFile, parts: readonly PartRecord[]): void {
  putParts(
    file,
    parts.map(({ workspace, message, attempt, ordinal, data }) => [workspace, message, attempt, ordinal, data]),
  )
  for (const { workspace, message, data } of parts) useBlobs(file, workspace, message, data)
}
