import type { Clock } from '#shared/clock.ts'
import { StoreThreadEnded } from '#shared/stores/disk-problem.ts'
import { STORE_AGAIN_MS } from '#shared/stores/store-outage.ts'
import { ThreadClient, type ThreadOptions } from './thread-client.ts'

/** See StoreThread. */
export interface StoreThreadOptions extends ThreadOptions {
  readonly clock: Pick<Clock, 'monotonic'>
}

/**
 * A thread that writes a file of a store, so that the event loop never waits for the disk. `F` is what it owns. Starting it
 * takes a tenth of a start, so the first call does that. When it ends, for whatever reason, the next call starts another
 * one; a thread that ended before it answered anything is replaced only after a second.
 */
export class StoreThread<F extends object> implements AsyncDisposable {
  readonly #options: StoreThreadOptions
  #thread: ThreadClient | undefined
  #startedAt = Number.NEGATIVE_INFINITY
  #isDisposed = false

  constructor(options: StoreThreadOptions) {
    this.#options = options
  }

  /** Calls of one turn of the event loop are sent together. Rejects with StoreThreadEnded if the thread ends before it answers. */
  async call<T>(method: Extract<keyof F, string>, args: readonly unknown[]): Promise<T> {
    return this.#running().call(method, args)
  }

  /** The same, sent now rather than at the end of the turn. */
  async callNow<T>(method: Extract<keyof F, string>, args: readonly unknown[]): Promise<T> {
    const thread = this.#running()
    const called = thread.call<T>(method, args)
    thread.send()
    return called
  }

  /** Lets it finish what was called before and close the file; later calls reject. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#isDisposed = true
    await this.#thread?.dispose()
  }

  #running(): ThreadClient {
    const { clock, name } = this.#options
    if (this.#isDisposed) throw new StoreThreadEnded(`The thread of ${name} is closed`)
    const thread = this.#thread
    const now = clock.monotonic()
    if (thread !== undefined && !(thread.isGone && (thread.hasAnswered || now - this.#startedAt >= STORE_AGAIN_MS))) {
      return thread
    }
    this.#startedAt = now
    this.#thread = new ThreadClient(this.#options)
    return this.#thread
  }
}
