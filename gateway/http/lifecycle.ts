/** Where the server is in its life, and what has to end before it does. */
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

  /** From now on the server is not ready; what comes all the same is answered. */
  unready(): void {
    this.#state = 'draining'
  }

  /** Ends every stream; what is open has so many milliseconds. */
  drain(ms: number): void {
    this.unready()
    this.#drainMs = ms
    for (const end of [...this.#endings]) end(ms)
  }

  /**
   * Has `end` called when the server stops, or soon when it already does, unless what it returns is disposed before. It is given how
   * many milliseconds there are for what is open.
   */
  onDrain(end: (drainMs: number) => void): Disposable {
    this.#endings.add(end)
    const ms = this.#drainMs
    if (ms !== undefined) setImmediate(() => this.#endings.has(end) && end(ms))
    return { [Symbol.dispose]: () => void this.#endings.delete(end) }
  }

  /** Streams that are open; for tests and metrics. */
  get openStreams(): number {
    return this.#endings.size
  }
}
