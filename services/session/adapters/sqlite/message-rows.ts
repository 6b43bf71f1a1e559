import type { StoredMessage } from '#services/session/domain/message.ts'
import type { SqliteFile } from '#shared/stores/sqlite.ts'
import { selectAll, selectOne } from '#shared/stores/sqlite-table.ts'
import { type MessageRecord, messages, parts, toStoredMessage } from '../tables/messages.ts'

const OF_MESSAGE = 'FROM parts WHERE workspace = ? AND message = ? AND attempt = ? ORDER BY ordinal'

/** A message with its parts. */
export function readStored(file: SqliteFile, record: MessageRecord): StoredMessage {
  const { workspace, id, type, attempt } = record
  const own = type === 'assistant' ? selectAll(file, parts.columns, OF_MESSAGE, workspace, id, attempt) : []
  return toStoredMessage(record, own)
}

/** The record of a message of a session that is there. */
export function readMessage(
  file: SqliteFile,
  workspace: string,
  sessionId: string,
  id: string,
): MessageRecord | undefined {
  const where = `FROM messages WHERE workspace = ? AND id = ?
    AND session = (SELECT number FROM sessions WHERE workspace = ? AND id = ?)`
  return selectOne(file, messages.columns, where, workspace, id, workspace, sessionId)
}
