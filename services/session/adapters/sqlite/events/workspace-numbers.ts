import type { SqliteFile } from '#shared/stores/sqlite.ts'

const GET = 'SELECT number FROM workspaces WHERE id = ?'
const ADD = 'INSERT INTO workspaces (id) VALUES (?) RETURNING number'
/** So many are remembered. */
const MOST = 10_000

/**
 * The numbers that stand for the ids of workspaces in a file: of an entry of an index, an id would be the larger part.
 */
export class WorkspaceNumbers {
  readonly #file: SqliteFile
  readonly #numbers = new Map<string, number>()

  constructor(file: SqliteFile) {
    this.#file = file
  }

  /** Undefined: nothing of the workspace was written so far. */
  find(workspace: string): number | undefined {
    return this.#numbers.get(workspace) ?? this.#keep(workspace, this.#file.statement(GET).get(workspace))
  }

  /** The number of a workspace, which gets one where it has none; to be called in a job. */
  take(workspace: string): number {
    return this.find(workspace) ?? (this.#keep(workspace, this.#file.statement(ADD).get(workspace)) as number)
  }

  /** A transaction was undone, and numbers that it gave may be given again. */
  forget(): void {
    this.#numbers.clear()
  }

  #keep(workspace: string, row: Readonly<Record<string, unknown>> | undefined): number | undefined {
    if (row === undefined) return undefined
    if (this.#numbers.size >= MOST) this.#numbers.clear()
    this.#numbers.set(workspace, row.number as number)
    return row.number as number
  }
}
