/** A number of places for work that costs too much to be done all at once; whoever finds none free waits in turn. */
export class Places {
  #free: number
  /** In the order in which they came. */
  readonly #waiting = new Set<() => void>()

  constructor(size: number) {
    this.#free = size
  }

  /** How many wait for a place. */
  get waiting(): number {
    return this.#waiting.size
  }

  /** Takes a place, to be given back by disposing it once. Throws the signal's reason. */
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

  /** To the one who has waited longest. */
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
