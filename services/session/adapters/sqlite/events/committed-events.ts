import type { SqliteFile } from '#shared/stores/sqlite.ts'
import type { WorkspaceNumbers } from './workspace-numbers.ts'

const NEWEST = 'SELECT max(position) AS last FROM events WHERE workspace = ?'

/**
 * The position up to which events are committed. A position whose event was undone is given again after a restart, so a
 * reader to whom it was shown would miss an event.
 */
export class CommittedEvents {
  readonly #file: SqliteFile
  readonly #workspaces: WorkspaceNumbers
  /** Workspaces to which events were committed since `#last` was read. */
  readonly #written = new Set<string>()
  #last: number

  constructor(file: SqliteFile, workspaces: WorkspaceNumbers, last: number) {
    this.#file = file
    this.#workspaces = workspaces
    this.#last = last
  }

  wrote(workspace: string): void {
    this.#written.add(workspace)
  }

  /** The position of the last event in any workspace. Not to be read in a job. */
  get last(): number {
    for (const workspace of this.#written) {
      const row = this.#file.statement(NEWEST).get(this.#workspaces.find(workspace) ?? null)
      this.#last = Math.max(this.#last, (row?.last as number | null) ?? 0)
    }
    this.#written.clear()
    return this.#last
  }
}
