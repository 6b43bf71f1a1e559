/**
 * Reads that callers share: all who ask for the same in one turn of the event loop get the answer of one read, which begins after
 * the last of them has asked. So nobody gets what was read before they came.
 */
export class SharedReads<T> {
  readonly #waiting = new Map<string, Promise<T>>()

  /** `key` names what is asked for; of those who ask for the same, one's `read` is called. */
  read(key: string, read: () => Promise<T>): Promise<T> {
    let waiting = this.#waiting.get(key)
    if (waiting === undefined) {
      const { promise, resolve } = Promise.withResolvers<T>()
      this.#waiting.set(key, promise)
      setImmediate(() => {
        this.#waiting.delete(key)
        resolve(read())
      })
      waiting = promise
    }
    return waiting
  }
}
