/**
 * A limited number of places for work that is too expensive to do all at once. Callers that find none free wait in
 * order.
 */
export class Places {
  #free: number
  /** In order of arrival. */
  readonly #waiting = new Set<() => void>()

  constructor(size: number) {
    this.#free = size
  }

  /** How many callers wait for a place. */
  get waiting(): number {
    return this.#waiting.size
  }

  /** Takes a place, which is released by disposing it. Throws the reason of the signal. */
  async take(signal: AbortSignal): Promise<Disposable> {
    signal.throwIfAborted()
    if (this.#free > 0) this.#free--
    else await this.#turn(signal)
    return { [Symbol.dispose]: () => this.#giveBack() }
  }

  #turn(signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const go = (): void => {
        signal.removeEventListener('abort', stop)
        resolve()
      }
      const stop = (): void => {
        this.#waiting.delete(go)
        reject(signal.reason)
      }
      this.#waiting.add(go)
      signal.addEventListener('abort', stop, { once: true })
    })
  }

  /** Gives the place to the caller that has waited longest. */
  #giveBack(): void {
    const [next] = this.#waiting
    if (next === undefined) {
      this.#free++
      return
    }
    this.#waiting.delete(next)
    next()
  }
}
