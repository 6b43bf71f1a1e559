import type { StoredMessage } from '#services/session/domain/message.ts'
import type { SqliteFile } from '#shared/stores/sqlite.ts'
import { type MessageRecord, type PartRecord, toStoredMessage } from '../common/message-record.ts'

/** A long text is read as bytes: node:sqlite takes ten times as long to make a string of it when it is not ASCII. */
const DATA = `iif(octet_length(data) > 65536, CAST(data AS BLOB), data) AS data`
type Raw<R> = Omit<R, 'data'> & { readonly data: string | Uint8Array }

/** The columns of a message. */
export const MESSAGE_COLUMNS = `workspace, id, sessionId, seq, type, unfinished, attempt, timeCreated, ${DATA}`
/** What MESSAGE_COLUMNS are read as. */
export type MessageRow = Raw<MessageRecord>

const PARTS = `SELECT workspace, message, attempt, ordinal, ${DATA} FROM parts
  WHERE workspace = ? AND message = ? AND attempt = ? ORDER BY ordinal`

/** A message with its parts. */
export function readStored(file: SqliteFile, row: MessageRow): StoredMessage {
  const { workspace, id, type, attempt } = row
  const parts = type === 'assistant' ? file.statement(PARTS).all(workspace, id, attempt) : []
  return toStoredMessage(withText(row), (parts as unknown as Raw<PartRecord>[]).map(withText))
}

/** The record of a message of a session that is there. */
export function readMessage(
  file: SqliteFile,
  workspace: string,
  sessionId: string,
  id: string,
): MessageRow | undefined {
  const sql = `SELECT ${MESSAGE_COLUMNS} FROM messages WHERE workspace = ? AND id = ?
    AND session = (SELECT number FROM sessions WHERE workspace = ? AND id = ?)`
  return file.statement(sql).get(workspace, id, workspace, sessionId) as MessageRow | undefined
}

function withText<R extends { readonly data: string | Uint8Array }>(row: R): R & { readonly data: string } {
  const { data } = row
  if (typeof data === 'string') return row as R & { readonly data: string }
  return { ...row, data: Buffer.from(data.buffer, data.byteOffset, data.byteLength).toString() }
}
