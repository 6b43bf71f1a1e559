import type { TakenId } from '#services/session/domain/inbox.ts'
import type { SqliteFile } from '#shared/stores/sqlite.ts'
import { selectOne } from '#shared/stores/sqlite-table.ts'
import { integer } from '#shared/stores/table.ts'
import { inbox, toTakenId } from '../tables/inbox.ts'
import { deleteMessage } from './empty-session.ts'
import type { HiddenSessions } from './hidden-sessions.ts'

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

const owner = { session: integer(), sessionId: inbox.columns.sessionId }
const numberedItem = { ...owner, ...inbox.columns }
const FREE = { taken: undefined, left: false }
const USES = `SELECT 1 FROM inbox WHERE workspace = ?1 AND id = ?2
  UNION ALL SELECT 1 FROM messages WHERE workspace = ?1 AND id = ?2`

/** `left`: the id names nothing, and there are rows of it. */
function read(file: SqliteFile, hidden: HiddenSessions, workspace: string, id: string) {
  if (file.rows(USES).get(workspace, id) === undefined) return FREE
  const item = selectOne(file, numberedItem, 'FROM inbox WHERE workspace = ? AND id = ?', workspace, id)
  if (item !== undefined && hidden.owns(item.session)) return { taken: toTakenId(item), left: false }
  const message = selectOne(file, owner, 'FROM messages WHERE workspace = ? AND id = ?', workspace, id)
  if (message !== undefined && hidden.owns(message.session)) {
    return { taken: { sessionId: message.sessionId, input: undefined }, left: false }
  }
  return { taken: undefined, left: item !== undefined || message !== undefined }
}
