/**
 * Reads that callers share: all who ask for the same in one turn of the event loop get the answer of one read, which begins after
 * the last of them has asked. So nobody gets what was read before they came.
 */
export class SharedReads<T> {
  readonly #read: (key: string) => Promise<T>
  readonly #waiting = new Map<string, Promise<T>>()

  constructor(read: (key: string) => Promise<T>) {
    this.#read = read
  }

  read(key: string): Promise<T> {
    let waiting = this.#waiting.get(key)
    if (waiting === undefined) {
      const { promise, resolve } = Promise.withResolvers<T>()
      this.#waiting.set(key, promise)
      setImmediate(() => {
        this.#waiting.delete(key)
        resolve(this.#read(key))
      })
      waiting = promise
    }
    return waiting
  }
}
