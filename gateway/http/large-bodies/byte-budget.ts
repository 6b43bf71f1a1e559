interface Waiting {
  readonly bytes: number
  readonly start: () => void
}

/** A budget of bytes that may be held at once. Those who find too little left wait in order. */
export class ByteBudget {
  readonly #most: number
  #left: number
  readonly #waiting = new Set<Waiting>()

  constructor(most: number) {
    this.#most = most
    this.#left = most
  }

  /**
   * Resolves once that many bytes are free (all of them, if more are wanted). Disposing the result gives them back.
   * Rejects with the signal's reason when it aborts first.
   */
  async take(bytes: number, signal: AbortSignal): Promise<Disposable> {
    signal.throwIfAborted()
    const taken = Math.min(bytes, this.#most)
    if (this.#waiting.size === 0 && taken <= this.#left) this.#left -= taken
    else await this.#wait(taken, signal)
    let held = taken
    return {
      [Symbol.dispose]: () => {
        this.#left += held
        held = 0
        this.#startNext()
      },
    }
  }

  #wait(bytes: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const leave = (): void => {
        this.#waiting.delete(waiting)
        reject(signal.reason)
        this.#startNext()
      }
      const start = (): void => {
        signal.removeEventListener('abort', leave)
        resolve()
      }
      const waiting = { bytes, start }
      this.#waiting.add(waiting)
      signal.addEventListener('abort', leave, { once: true })
    })
  }

  /** In order, so that small requests do not starve a large one. */
  #startNext(): void {
    for (const waiting of this.#waiting) {
      if (waiting.bytes > this.#left) return
      this.#left -= waiting.bytes
      this.#waiting.delete(waiting)
      waiting.start()
    }
  }
}
