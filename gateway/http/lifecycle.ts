/** The state of the server, and what has to end before the server stops. */
export class Lifecycle {
  #state: 'starting' | 'ready' | 'draining' = 'starting'
  #drainMs: number | undefined
  readonly #endings = new Set<(drainMs: number) => void>()

  get state(): 'starting' | 'ready' | 'draining' {
    return this.#state
  }

  /** Requests are answered from now on. */
  ready(): void {
    if (this.#state === 'starting') this.#state = 'ready'
  }

  /** From now on the server reports that it is not ready; requests that still arrive are answered. */
  unready(): void {
    this.#state = 'draining'
  }

  /** Ends every stream; requests that are open have this many milliseconds. */
  drain(ms: number): void {
    this.unready()
    this.#drainMs = ms
    for (const end of [...this.#endings]) end(ms)
  }

  /**
   * Calls `end` when the server stops, or soon if it is already stopping, unless the returned object is disposed first.
   * `end` gets the milliseconds that are left for open requests.
   */
  onDrain(end: (drainMs: number) => void): Disposable {
    this.#endings.add(end)
    const ms = this.#drainMs
    if (ms !== undefined) setImmediate(() => this.#endings.has(end) && end(ms))
    return { [Symbol.dispose]: () => void this.#endings.delete(end) }
  }

  /** Streams that are open; for tests. */
  get openStreams(): number {
    return this.#endings.size
  }
}

/**
 * The share of the time that a stopping server has left after which what still runs is ended with an answer: most of
 * it, since another server cannot continue the work.
 */
export const SHARE_OF_STOP = 0.75
