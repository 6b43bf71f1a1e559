const MOST = 3
const WITHIN_MS = 60_000

/**
 * Deaths of a process within the last minute, by a signal that anybody may have sent, but that a plugin may have
 * caused.
 */
export class Strikes {
  #times: readonly number[] = []

  get count(): number {
    return this.#recent.length
  }

  /** Nobody else would kill a process that often. */
  get tooMany(): boolean {
    return this.count >= MOST
  }

  add(): void {
    this.#times = [...this.#recent, performance.now()]
  }

  get #recent(): readonly number[] {
    const since = performance.now() - WITHIN_MS
    return this.#times.filter((time) => time > since)
  }
}
