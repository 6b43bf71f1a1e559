import type { Revision } from '#services/session/domain/revision.ts'
import type { Write } from '#services/session/domain/write.ts'
import type { SqliteFile } from '#shared/stores/sqlite.ts'
import { insertInto, updateRows } from '#shared/stores/sqlite-table.ts'
import { type ActivityRecord, activity, activityRecord } from '../tables/activity.ts'
import { type EventRecord, eventRecord } from '../tables/events.ts'
import { inbox, inboxRecord, settledUpdate } from '../tables/inbox.ts'
import {
  type MessageRecord,
  messageRecord,
  messages,
  messageUpdate,
  type PartRecord,
  partRecords,
  parts,
} from '../tables/messages.ts'
import { approvalRecord, approvals, requestRecord, requests } from '../tables/permissions.ts'
import { descriptionRecord, type SessionRecord, sessions, toStateChanges } from '../tables/sessions.ts'
import { useBlobs } from './blob-uses.ts'
import type { SqliteEventLog } from './events/event-log.ts'
import type { StoreParts } from './store-parts.ts'

/** A session, and its number in the file. */
export interface NumberedKey {
  readonly workspace: string
  readonly id: string
  readonly number: number
}

const insertSession = insertInto(sessions)
const insertItem = insertInto(inbox)
const insertMessage = insertInto(messages)
const putParts = insertInto(parts, { end: 'ON CONFLICT DO UPDATE SET data = excluded.data' })
const insertRequest = insertInto(requests)
const keepApproval = insertInto(approvals, { or: 'IGNORE' })
const putActivity = insertInto(activity, { or: 'REPLACE' })
const NAMED = 'WHERE workspace = ? AND id = ?'
const NUMBERED = 'WHERE number = ?'

/** Writes what a revision changes; to be called in a job. */
export function saveRevision(file: SqliteFile, log: SqliteEventLog, session: NumberedKey, revision: Revision): void {
  saveWrites(file, log, session, revision.writes)
  updateRows(file, sessions, toStateChanges(revision.changes), NUMBERED, session.number)
}

/** Writes a new session and the events of its creation; to be called in a job. */
export function saveNewSession(
  { file, log }: Pick<StoreParts, 'file' | 'log'>,
  number: number,
  record: SessionRecord,
  revision: Revision,
): void {
  const { workspace, sessionId: id } = record
  insertSession(file, [{ ...record, number }])
  saveWrites(file, log, { workspace, id, number }, revision.writes)
}

function saveWrites(file: SqliteFile, log: SqliteEventLog, session: NumberedKey, writes: readonly Write[]): void {
  const events: EventRecord[] = []
  for (const write of writes) {
    if (write.type === 'event') events.push(eventRecord(session.workspace, write))
    else save(file, session, write)
  }
  log.append(events, session.number)
}

function save(file: SqliteFile, session: NumberedKey, write: Exclude<Write, { type: 'event' }>): void {
  const { workspace, id: sessionId, number } = session
  switch (write.type) {
    case 'admit': {
      const item = inboxRecord(workspace, write)
      insertItem(file, [{ ...item, session: number }])
      useBlobs(file, workspace, item.id, item.data)
      break
    }
    case 'deliver':
    case 'cancel':
      updateRows(file, inbox, settledUpdate(write), NAMED, workspace, write.id)
      break
    case 'redeliver':
      updateRows(file, inbox, { delivery: write.delivery }, NAMED, workspace, write.id)
      break
    case 'insert':
      saveMessage(file, number, messageRecords(workspace, sessionId, write))
      break
    case 'update':
      if (write.own) updateRows(file, messages, messageUpdate(write.message), NAMED, workspace, write.message.messageId)
      saveParts(file, partRecords(workspace, write))
      break
    case 'count':
      saveActivity(file, number, activityRecord(workspace, sessionId, write))
      break
    case 'request':
      insertRequest(file, [{ ...requestRecord(workspace, write), session: number }])
      break
    case 'answer': {
      const { reply, message } = write
      updateRows(file, requests, { reply, message }, NAMED, workspace, write.requestId)
      break
    }
    case 'approve':
      keepApproval(file, [approvalRecord(workspace, write)])
      break
    case 'describe':
      updateRows(file, sessions, descriptionRecord(write), NUMBERED, number)
  }
}

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
  insertMessage(file, [{ ...message, session }])
  useBlobs(file, message.workspace, message.id, message.data)
  saveParts(file, parts)
}

/** Writes what counts of a message; to be called in a job. */
export function saveActivity(file: SqliteFile, session: number, record: ActivityRecord): void {
  putActivity(file, [{ ...record, session }])
}

function saveParts(file: SqliteFile, records: readonly PartRecord[]): void {
  putParts(file, records)
  for (const { workspace, message, data } of records) useBlobs(file, workspace, message, data)
}
