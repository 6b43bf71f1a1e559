/** Where the server is in its life, and what has to end before it does. */
export class Lifecycle {
  #state: 'starting' | 'ready' | 'draining' = 'starting'
  #ending = false
  readonly #endings = new Set<() => void>()

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

  /** Ends every stream. */
  drain(): void {
    this.unready()
    this.#ending = true
    for (const end of [...this.#endings]) end()
  }

  /** Has `end` called when the server stops, or soon when it already does, unless the answer is disposed before. */
  onDrain(end: () => void): Disposable {
    this.#endings.add(end)
    if (this.#ending) setImmediate(() => this.#endings.has(end) && end())
    return { [Symbol.dispose]: () => void this.#endings.delete(end) }
  }

  /** Streams that are open; for tests and metrics. */
  get openStreams(): number {
    return this.#endings.size
  }
}
