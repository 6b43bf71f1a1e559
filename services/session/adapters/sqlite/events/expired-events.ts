import type { SqliteFile } from '#shared/stores/sqlite.ts'
import type { WorkspaceNumbers } from './workspace-numbers.ts'

const NEXT_WORKSPACE = 'SELECT min(workspace) AS workspace FROM events WHERE workspace > ?'
const OLDEST = 'SELECT position, createTime FROM events WHERE workspace = ? ORDER BY position LIMIT ?'
/** How many events are deleted, and workspaces inspected, in one transaction, for which others wait. */
const EXPIRED = 500
const LOOKED = 100

/** Which events of a log have expired, by workspace: what expires in one is no gap in the others. */
export class ExpiredEvents {
  readonly #file: SqliteFile
  readonly #workspaces: WorkspaceNumbers
  /** The last expired position of each workspace (by its number) that was read. */
  readonly #positions = new Map<number, number>()
  /** The workspace that was looked at last. */
  #looked = 0
  #hasMore = false

  constructor(file: SqliteFile, workspaces: WorkspaceNumbers) {
    this.#file = file
    this.#workspaces = workspaces
  }

  /** The last position whose event has expired, in any workspace. */
  get last(): number {
    const row = this.#file.statement('SELECT max(position) AS last FROM expired').get()
    return (row?.last as number | null) ?? 0
  }

  in(workspace: string): number {
    const number = this.#workspaces.find(workspace)
    if (number === undefined) return 0
    const remembered = this.#positions.get(number)
    if (remembered !== undefined) return remembered
    const row = this.#file.statement('SELECT position FROM expired WHERE workspace = ?').get(number)
    const position = (row?.position as number | undefined) ?? 0
    this.#positions.set(number, position)
    return position
  }

  /** See EventLog.expireEvents; to be called in a job, again and again until it is `done` with all workspaces. */
  expire(before: number): { readonly count: number; readonly done: boolean } {
    for (let looked = 0; looked < LOOKED; looked++) {
      const workspace = this.#file.statement(NEXT_WORKSPACE).get(this.#looked)?.workspace as number | null
      this.#looked = workspace ?? 0
      if (workspace === null) return this.#endRound()
      const count = this.#expireIn(workspace, before)
      this.#hasMore ||= count > 0
      if (count > 0) return { count, done: false }
    }
    return { count: 0, done: false }
  }

  /** All workspaces were inspected: if anything had expired, there may be more. */
  #endRound(): { readonly count: number; readonly done: boolean } {
    const done = !this.#hasMore
    this.#hasMore = false
    return { count: 0, done }
  }

  #expireIn(workspace: number, before: number): number {
    const rows = this.#file.statement(OLDEST).all(workspace, EXPIRED) as { position: number; createTime: number }[]
    const kept = rows.findIndex(({ createTime }) => createTime >= before)
    const last = rows[(kept < 0 ? rows.length : kept) - 1]
    if (last === undefined) return 0
    this.#file.statement('DELETE FROM events WHERE workspace = ? AND position <= ?').run(workspace, last.position)
    this.#file.statement('REPLACE INTO expired (workspace, position) VALUES (?, ?)').run(workspace, last.position)
    // Read again later, since the job may be undone.
    this.#positions.delete(workspace)
    return kept < 0 ? rows.length : kept
  }
}
