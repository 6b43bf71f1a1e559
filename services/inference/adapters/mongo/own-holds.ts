interface RowId {
  readonly workspaceId: string
  readonly requestId: string
}

/** A row whose opening failed: its provider was not called. */
export interface UncalledRow extends RowId {
  readonly name: string
}

/** The holds of this process, by row. Holds that are unknown here are settled like those of a dead process. */
export class OwnHolds {
  readonly #names = new Set<string>()
  readonly #opening = new Map<string, string>()
  readonly #running = new Map<string, string>()
  /** With the time when they were given up, on the monotonic clock. */
  readonly #uncalled = new Map<UncalledRow, number>()

  /** A row is being opened, with a hold of this name. */
  begin(row: RowId, name: string): void {
    this.#names.add(name)
    this.#opening.set(idOf(row), name)
  }

  opened(row: RowId, name: string): void {
    this.#leave(this.#opening, row, name)
    if (this.#names.has(name)) this.#running.set(idOf(row), name)
  }

  /**
   * It is closed, or was not opened, or nobody waits for it any more; without a name, everything known about the row is
   * dropped.
   */
  forget(row: RowId, name = this.#nameOf(row)): void {
    if (name === undefined) return
    this.#names.delete(name)
    this.#leave(this.#opening, row, name)
    this.#leave(this.#running, row, name)
  }

  /** Its opening failed, but may still be carried out for some time. */
  failed({ workspaceId, requestId }: RowId, name: string, time: number): void {
    this.forget({ workspaceId, requestId }, name)
    this.#uncalled.set({ workspaceId, requestId, name }, time)
  }

  get uncalled(): readonly UncalledRow[] {
    return [...this.#uncalled.keys()]
  }

  /** What failed before a certain time is not carried out any more. */
  forgetFailed(before: number): void {
    for (const [row, time] of this.#uncalled) if (time < before) this.#uncalled.delete(row)
  }

  has(name: string): boolean {
    return this.#names.has(name)
  }

  /** The name of the hold of an open row. */
  nameOf(row: RowId): string | undefined {
    return this.#running.get(idOf(row))
  }

  #nameOf(row: RowId): string | undefined {
    return this.#opening.get(idOf(row)) ?? this.#running.get(idOf(row))
  }

  /** Another opening with the same id is not affected. */
  #leave(names: Map<string, string>, row: RowId, name: string): void {
    if (names.get(idOf(row)) === name) names.delete(idOf(row))
  }
}

function idOf({ workspaceId, requestId }: RowId): string {
  return `${workspaceId} ${requestId}`
}
