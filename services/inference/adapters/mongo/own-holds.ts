interface RowId {
  readonly workspace: string
  readonly requestId: string
}

/** The holds of this process, by the rows that they are for: those that nobody here knows of are settled as of a dead process. */
export class OwnHolds {
  readonly #known = new Set<string>()
  readonly #opening = new Map<string, string>()
  readonly #running = new Map<string, string>()

  /** A row is being opened, under the name of what it holds. */
  begin(row: RowId, name: string): void {
    this.#known.add(name)
    this.#opening.set(idOf(row), name)
  }

  /** It is open. */
  opened(row: RowId, name: string): void {
    this.#leave(this.#opening, row, name)
    if (this.#known.has(name)) this.#running.set(idOf(row), name)
  }

  /** It is closed, or was not opened, or nobody waits for it any more; without a name, whatever is known of the row. */
  forget(row: RowId, name = this.#opening.get(idOf(row)) ?? this.#running.get(idOf(row))): void {
    if (name === undefined) return
    this.#known.delete(name)
    this.#leave(this.#opening, row, name)
    this.#leave(this.#running, row, name)
  }

  has(name: string): boolean {
    return this.#known.has(name)
  }

  /** Of a row that is open. */
  nameOf(row: RowId): string | undefined {
    return this.#running.get(idOf(row))
  }

  /** Another opening under the same id is left alone. */
  #leave(names: Map<string, string>, row: RowId, name: string): void {
    if (names.get(idOf(row)) === name) names.delete(idOf(row))
  }
}

function idOf({ workspace, requestId }: RowId): string {
  return `${workspace} ${requestId}`
}
