import { ByteBudget } from './byte-budget.ts'

/** A larger body waits for its turn, and is decoded, parsed and checked in separate turns of the event loop. */
export const LARGE = 1_048_576
/**
 * Budget for large bodies that are arriving or have arrived: most clients are slow, and need not wait for each other.
 */
const ARRIVING = new ByteBudget(128 * 1_048_576)
/**
 * Budget for those that are being parsed and handled: each takes several times its size, and its copies are collected
 * together.
 */
const HANDLED = new ByteBudget(24 * 1_048_576)

/**
 * One body's share of this process's memory for large bodies; a small one never waits. Disposing it gives everything
 * back.
 */
export class BodyShare implements Disposable {
  readonly #signal: () => AbortSignal
  readonly #taken = new DisposableStack()

  /** `signal` aborts when the client is gone. */
  constructor(signal: () => AbortSignal) {
    this.#signal = signal
  }

  /** Resolves when a body of at most so many bytes may arrive. */
  arrive(bytes: number): Promise<void> {
    return this.#take(ARRIVING, bytes)
  }

  /** Resolves when a body that has arrived may be read and handled. */
  async handle(bytes: number): Promise<void> {
    if (bytes > LARGE) await this.#take(HANDLED, bytes)
  }

  [Symbol.dispose](): void {
    this.#taken.dispose()
  }

  async #take(budget: ByteBudget, bytes: number): Promise<void> {
    const taken = await budget.take(bytes, this.#signal())
    // Disposed meanwhile: the request was refused before its turn came.
    if (this.#taken.disposed) taken[Symbol.dispose]()
    else this.#taken.use(taken)
  }
}
