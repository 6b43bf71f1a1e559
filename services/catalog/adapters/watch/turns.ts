/** How often each has a turn, in milliseconds. */
const INTERVAL_MS = 1_000

/** How many share a turn, so that polling takes a bounded share of the processor, however many poll. */
const AT_ONCE = 20

/** Calls those who cannot be notified of changes one after the other, a few each second. */
export class Turns {
  /** The next one is the one that was called longest ago. */
  readonly #waiting = new Set<() => void>()
  #timer: NodeJS.Timeout | undefined

  /** Calls `look` periodically, until the returned object is disposed. */
  add(look: () => void): Disposable {
    const own = (): void => look()
    this.#waiting.add(own)
    this.#timer ??= setInterval(() => this.#next(), INTERVAL_MS).unref()
    return {
      [Symbol.dispose]: () => {
        this.#waiting.delete(own)
        if (this.#waiting.size > 0) return
        clearInterval(this.#timer)
        this.#timer = undefined
      },
    }
  }

  #next(): void {
    for (const look of [...this.#waiting].slice(0, AT_ONCE)) {
      this.#waiting.delete(look)
      this.#waiting.add(look)
      look()
    }
  }
}
