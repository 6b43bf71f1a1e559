import type { StoredMessage } from '#services/session/domain/message.ts'
import { type MessagePage, type MessageQuery, RECORD_BYTES } from '#services/session/ports/session-lists.ts'
import type { SqliteFile } from '#shared/stores/sqlite.ts'
import { selectAll, selectOne } from '#shared/stores/sqlite-table.ts'
import { fitting, readsForward, type Sized, toPage } from '../common/session-lists.ts'
import { type MessageRecord, messages, parts, toStoredMessage } from '../tables/messages.ts'

const OF_MESSAGE = 'FROM parts WHERE workspace = ? AND message = ? AND attempt = ? ORDER BY ordinal'

export function readStored(file: SqliteFile, record: MessageRecord): StoredMessage {
  const { workspace, id, type, attempt } = record
  const own = type === 'assistant' ? selectAll(file, parts.columns, OF_MESSAGE, workspace, id, attempt) : []
  return toStoredMessage(record, own)
}

export function readMessage(
  file: SqliteFile,
  workspace: string,
  sessionId: string,
  id: string,
): MessageRecord | undefined {
  const where = `FROM messages WHERE workspace = ? AND id = ?
    AND session = (SELECT number FROM sessions WHERE workspace = ? AND sessionId = ?)`
  return selectOne(file, messages.columns, where, workspace, id, workspace, sessionId)
}

/** What is read of a message, in bytes; long texts are not read for it. */
const SIZE = `octet_length(data) + ${RECORD_BYTES} + (SELECT coalesce(sum(octet_length(parts.data) + ${RECORD_BYTES}), 0)
  FROM parts WHERE parts.workspace = messages.workspace AND message = messages.id AND attempt = messages.attempt) AS bytes`

/** Undefined: no such session. */
export function listMessages(
  file: SqliteFile,
  workspace: string,
  sessionId: string,
  query: MessageQuery,
): MessagePage | undefined {
  const rows = file
    .statement('SELECT number FROM sessions WHERE workspace = ? AND sessionId = ?')
    .get(workspace, sessionId)
  if (rows === undefined) return undefined
  const number = rows.number as number
  const forward = readsForward(query)
  const from = query.anchor?.seq ?? (forward ? 0 : Number.MAX_SAFE_INTEGER)
  const type = query.type === undefined ? [] : [query.type]
  const rest = `FROM messages WHERE session = ? AND seq ${forward ? '>' : '<'} ?
    ${type.length === 0 ? '' : 'AND type = ?'} ORDER BY seq ${forward ? 'ASC' : 'DESC'} LIMIT ?`
  const values = [number, from, ...type] as const
  const most = query.limit + 1
  const sizes = query.bytes === undefined ? [] : file.statement(`SELECT ${SIZE} ${rest}`).iterate(...values, most)
  const { count, all } = fitting(sizes as Iterable<Sized>, query.bytes)
  const records = selectAll(file, messages.columns, rest, ...values, all ? most : count)
  const page = toPage(records, query, (record) => readStored(file, record))
  return { ...page, more: page.more || !all, incarnation: String(number) }
}
