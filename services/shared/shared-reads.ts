/**
 * Reads that callers share. While one is in progress, all callers that need the same within one turn of the event loop
 * share one more read, which begins after the last of them arrived. So nobody gets a value that was read before they
 * asked for it.
 */
export class SharedReads<T> {
  readonly #running = new Map<string, Promise<T>>()
  readonly #waiting = new Map<string, Promise<T>>()

  /** `key` identifies the read; of several callers with the same key, the `read` of one is called. */
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
