import { ByteBudget } from './byte-budget.ts'

/** A body of more bytes waits for its turn, and is decoded, parsed and checked in turns of the event loop of its own. */
export const LARGE = 1_048_576
/** Of large bodies that arrive or have arrived: most clients are slow, and do not wait for each other. */
const ARRIVING = new ByteBudget(128 * 1_048_576)
/** Of those that are read and handled: each takes several times its size meanwhile, and its copies are collected together. */
const HANDLED = new ByteBudget(24 * 1_048_576)

/** What one body takes of the memory for large bodies of this process; a small one never waits. Disposing it gives all back. */
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
    // Given back meanwhile: the request was refused before it was its turn.
    if (this.#taken.disposed) taken[Symbol.dispose]()
    else this.#taken.use(taken)
  }
}
