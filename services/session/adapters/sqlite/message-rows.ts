import type { StoredMessage } from '#services/session/domain/message.ts'
import type { SqliteFile } from '#shared/stores/sqlite.ts'
import { type MessageRecord, type PartRecord, toStoredMessage } from '../common/message-record.ts'

const PARTS = 'SELECT * FROM parts WHERE workspace = ? AND message = ? AND attempt = ? ORDER BY ordinal'

/** A message with its parts. */
export function readStored(file: SqliteFile, record: MessageRecord): StoredMessage {
  const { workspace, id, type, attempt } = record
  const parts = type === 'assistant' ? file.statement(PARTS).all(workspace, id, attempt) : []
  return toStoredMessage(record, parts as unknown as PartRecord[])
}

/** The record of a message of a session that is there. */
export function readMessage(
  file: SqliteFile,
  workspace: string,
  sessionId: string,
  id: string,
): MessageRecord | undefined {
  const sql = `SELECT * FROM messages WHERE workspace = ? AND id = ?
    AND session = (SELECT number FROM sessions WHERE workspace = ? AND id = ?)`
  return file.statement(sql).get(workspace, id, workspace, sessionId) as MessageRecord | undefined
}
