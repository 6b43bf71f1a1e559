/**
 * Runs the jobs of each key one after the other, in the order in which they came. Jobs of different keys run at the
 * same time.
 */
export class KeyedQueue {
  /** Key → the end of its last job. */
  readonly #last = new Map<string, Promise<unknown>>()

  async run<T>(key: string, job: () => Promise<T>): Promise<T> {
    const before = this.#last.get(key)
    const turn = (async () => {
      await before
      return job()
    })()
    const ended = turn.catch(() => {})
    this.#last.set(key, ended)
    try {
      return await turn
    } finally {
      if (this.#last.get(key) === ended) this.#last.delete(key)
    }
  }
}
