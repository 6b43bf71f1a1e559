interface FairTurnsOptions {
  /** So much is done at once. */
  readonly atOnce: number
  /** So much for one workspace. */
  readonly ofOne: number
  /** So much of one workspace waits; the oldest makes room for what is new. */
  readonly waiting: number
}

interface Turn {
  readonly work: () => Promise<void>
  readonly left: () => void
}

/** Work that nobody relies on, done by turns of the workspaces: one whose work takes long delays its own alone. */
export class FairTurns {
  readonly #options: FairTurnsOptions
  /** What waits, by workspace; the next turn is that of the first which may have one. */
  readonly #waiting = new Map<string, Turn[]>()
  /** How much is being done, by workspace. */
  readonly #busy = new Map<string, number>()
  readonly #pending = new Set<Promise<void>>()

  constructor(options: FairTurnsOptions) {
    this.#options = options
  }

  /** Has work done when it has its turn; it must not throw. `left` is called when it makes room for others instead. */
  add(workspace: string, work: () => Promise<void>, left: () => void): void {
    const waiting = this.#waiting.get(workspace) ?? []
    waiting.push({ work, left })
    if (waiting.length > this.#options.waiting) waiting.shift()?.left()
    this.#waiting.set(workspace, waiting)
    this.#begin()
  }

  /** Forgets what waits; resolves once what had begun is done. */
  async end(): Promise<void> {
    this.#waiting.clear()
    await Promise.all(this.#pending)
  }

  #begin(): void {
    while (this.#pending.size < this.#options.atOnce) {
      const workspace = this.#waiting.keys().find((each) => this.#busyOf(each) < this.#options.ofOne)
      if (workspace === undefined) return
      const [turn, ...others] = this.#waiting.get(workspace) ?? []
      this.#waiting.delete(workspace)
      if (others.length > 0) this.#waiting.set(workspace, others)
      if (turn !== undefined) this.#do(workspace, turn.work)
    }
  }

  #do(workspace: string, work: () => Promise<void>): void {
    this.#busy.set(workspace, this.#busyOf(workspace) + 1)
    const done = work().finally(() => {
      this.#pending.delete(done)
      const left = this.#busyOf(workspace) - 1
      if (left > 0) this.#busy.set(workspace, left)
      else this.#busy.delete(workspace)
      this.#begin()
    })
    this.#pending.add(done)
  }

  #busyOf(workspace: string): number {
    return this.#busy.get(workspace) ?? 0
  }
}
