/** Time from the first failure to the next attempt, doubled by each further failure. */
const FIRST_MS = 1_000
const MAX_MS = 300_000
/** After this many failures in a row, nobody waits for the next attempt. */
const HOPEFUL_FAILURES = 3

/** Repeats what has failed, with growing delays. */
export class Retry implements Disposable {
  #failures = 0
  #timer: NodeJS.Timeout | undefined

  /** Whether the next attempt is still to come. */
  get pending(): boolean {
    return this.#timer !== undefined
  }

  /** Whether it has failed so often that waiting for the next attempt makes no sense. */
  get hopeless(): boolean {
    return this.pending && this.#failures > HOPEFUL_FAILURES
  }

  /** Counts a failure, and schedules the next attempt. Returns the delay in milliseconds. */
  failed(run: () => void): number {
    const wait = Math.min(FIRST_MS * 2 ** this.#failures++, MAX_MS)
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => {
      this.#timer = undefined
      run()
    }, wait).unref()
    return wait
  }

  /** It has worked for long enough: the next failure counts as the first. */
  forget(): void {
    this.#failures = 0
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
  }
}
