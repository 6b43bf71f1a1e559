/**
 * Reads that callers share: while one is under way, all who want the same in one turn of the event loop get the answer of one
 * more, which begins after the last of them has come. So nobody gets what was read before they came.
 */
export class SharedReads<T> {
  readonly #running = new Map<string, Promise<T>>()
  readonly #waiting = new Map<string, Promise<T>>()

  /** `key` names what is read; of those who want the same, one's `read` is called. */
  read(key: string, read: () => Promise<T>): Promise<T> {
    const waiting = this.#waiting.get(key)
    if (waiting !== undefined) return waiting
    if (!this.#running.has(key)) return this.#begin(key, read)
    const { promise, resolve } = Promise.withResolvers<T>()
    this.#waiting.set(key, promise)
    setImmediate(() => {
      this.#waiting.delete(key)
      resolve(this.#begin(key, read))
    })
    return promise
  }

  #begin(key: string, read: () => Promise<T>): Promise<T> {
    const running = read()
    this.#running.set(key, running)
    const ended = (): void => {
      if (this.#running.get(key) === running) this.#running.delete(key)
    }
    running.then(ended, ended)
    return running
  }
}
