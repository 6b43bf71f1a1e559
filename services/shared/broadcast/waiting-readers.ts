/** Readers that have read everything, and wait until there is more. */
export class WaitingReaders {
  readonly #waiting = new Set<() => void>()

  /** Whether nobody waits. */
  get none(): boolean {
    return this.#waiting.size === 0
  }

  /** Resolves when the readers are woken, or the signal aborts. */
  wait(signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const wake = (): void => {
        signal.removeEventListener('abort', wake)
        this.#waiting.delete(wake)
        resolve()
      }
      this.#waiting.add(wake)
      signal.addEventListener('abort', wake)
      if (signal.aborted) wake()
    })
  }

  wake(): void {
    for (const wake of this.#waiting) wake()
  }
}
