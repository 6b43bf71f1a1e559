interface FairTurnsOptions {
  /** How many jobs run at once. */
  readonly atOnce: number
  /** How many of them for one workspace. */
  readonly ofOne: number
  /** How many jobs of one workspace may wait; the oldest is dropped for a new one. */
  readonly waiting: number
}

interface Turn {
  readonly work: () => Promise<void>
  readonly left: () => void
}

/** Runs best-effort jobs, with turns between workspaces, so that slow jobs of one workspace only delay its own. */
export class FairTurns {
  readonly #options: FairTurnsOptions
  /** Waiting jobs by workspace; the next turn goes to the first workspace that may run one. */
  readonly #waiting = new Map<string, Turn[]>()
  /** Running jobs by workspace. */
  readonly #busy = new Map<string, number>()
  readonly #pending = new Set<Promise<void>>()

  constructor(options: FairTurnsOptions) {
    this.#options = options
  }

  /** Runs a job when its turn comes; it must not throw. `left` is called if it is dropped instead. */
  add(workspace: string, work: () => Promise<void>, left: () => void): void {
    const waiting = this.#waiting.get(workspace) ?? []
    waiting.push({ work, left })
    if (waiting.length > this.#options.waiting) waiting.shift()?.left()
    this.#waiting.set(workspace, waiting)
    this.#begin()
  }

  /** Drops waiting jobs; resolves once running ones are done. */
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
