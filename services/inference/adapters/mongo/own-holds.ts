interface RowId {
  readonly workspace: string
  readonly requestId: string
}

/** A row whose opening has failed: its provider was not called. */
export interface UncalledRow extends RowId {
  /** Of what it holds. */
  readonly name: string
}

/** The holds of this process, by the rows that they are for: those that nobody here knows of are settled as of a dead process. */
export class OwnHolds {
  readonly #known = new Set<string>()
  readonly #opening = new Map<string, string>()
  readonly #running = new Map<string, string>()
  /** And when they were given up, by the monotonic clock. */
  readonly #uncalled = new Map<UncalledRow, number>()

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
  forget(row: RowId, name = this.#nameOf(row)): void {
    if (name === undefined) return
    this.#known.delete(name)
    this.#leave(this.#opening, row, name)
    this.#leave(this.#running, row, name)
  }

  /** Its opening has failed, and may be done all the same, for some time to come. */
  failed({ workspace, requestId }: RowId, name: string, time: number): void {
    this.forget({ workspace, requestId }, name)
    this.#uncalled.set({ workspace, requestId, name }, time)
  }

  get uncalled(): readonly UncalledRow[] {
    return [...this.#uncalled.keys()]
  }

  /** What has failed before a time is not done any more. */
  forgetFailed(before: number): void {
    for (const [row, time] of this.#uncalled) if (time < before) this.#uncalled.delete(row)
  }

  has(name: string): boolean {
    return this.#known.has(name)
  }

  /** Of a row that is open. */
  nameOf(row: RowId): string | undefined {
    return this.#running.get(idOf(row))
  }

  #nameOf(row: RowId): string | undefined {
    return this.#opening.get(idOf(row)) ?? this.#running.get(idOf(row))
  }

  /** Another opening under the same id is left alone. */
  #leave(names: Map<string, string>, row: RowId, name: string): void {
    if (names.get(idOf(row)) === name) names.delete(idOf(row))
  }
}

function idOf({ workspace, requestId }: RowId): string {
  return `${workspace} ${requestId}`
}
