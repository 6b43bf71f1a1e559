import type { TakenId } from '#services/session/domain/inbox.ts'
import type { SqliteFile } from '#shared/stores/sqlite.ts'
import { type InboxRecord, toTakenId } from '../common/inbox-record.ts'
import type { MessageRecord } from '../common/message-record.ts'
import { deleteMessage } from './hidden/empty-session.ts'
import type { HiddenSessions } from './hidden/hidden-sessions.ts'

type Numbered<T> = T & { readonly session: number }

/** What an id of the workspace names; rows of a session that is being removed name nothing. */
export function readTakenId(
  file: SqliteFile,
  hidden: HiddenSessions,
  workspace: string,
  id: string,
): TakenId | undefined {
  return read(file, hidden, workspace, id).taken
}

/** The same; when the id names nothing, there is no row of it afterwards. To be called in a job. */
export function claimId(file: SqliteFile, hidden: HiddenSessions, workspace: string, id: string): TakenId | undefined {
  const { taken, left } = read(file, hidden, workspace, id)
  if (left) deleteMessage(file, workspace, id)
  return taken
}

const FREE = { taken: undefined, left: false }
const USES = `SELECT 1 FROM inbox WHERE workspace = ?1 AND id = ?2
  UNION ALL SELECT 1 FROM messages WHERE workspace = ?1 AND id = ?2`

/** `left`: the id names nothing, and there are rows of it. */
function read(file: SqliteFile, hidden: HiddenSessions, workspace: string, id: string) {
  if (file.rows(USES).get(workspace, id) === undefined) return FREE
  const item = rowOf<InboxRecord>(file, 'inbox', workspace, id)
  if (item !== undefined && hidden.owns(item.session)) return { taken: toTakenId(item), left: false }
  const message = rowOf<MessageRecord>(file, 'messages', workspace, id)
  if (message !== undefined && hidden.owns(message.session)) {
    return { taken: { sessionId: message.sessionId, input: undefined }, left: false }
  }
  return { taken: undefined, left: item !== undefined || message !== undefined }
}

function rowOf<T>(file: SqliteFile, table: string, workspace: string, id: string): Numbered<T> | undefined {
  const sql = `SELECT * FROM ${table} WHERE workspace = ? AND id = ?`
  return file.statement(sql).get(workspace, id) as Numbered<T> | undefined
}
