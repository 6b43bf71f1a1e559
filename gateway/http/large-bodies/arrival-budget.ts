/** A large body that is arriving or has arrived. */
export interface Arrival {
  /** Whose bodies count together. */
  readonly owner: string
  /** Bytes of the budget that it holds. */
  held: number
  /** Set while it waits: gives it its next bytes. */
  start?: (() => void) | undefined
}

/**
 * A budget of bytes for bodies, which take it piece by piece while they arrive, so that a silent client holds little.
 * Older bodies come first, and one owner gets at most a part of the budget. Bodies that have arrived in part would wait
 * for each other for ever if none could go on: so the oldest of all is not limited, and the oldest of its owner only by
 * the budget of all.
 */
export class ArrivalBudget {
  readonly #most: number
  readonly #mostOfOwner: number
  /** By age. */
  readonly #arrivals = new Set<Arrival>()

  constructor(most: number, mostOfOwner: number) {
    this.#most = most
    this.#mostOfOwner = mostOfOwner
  }

  /**
   * Resolves once an arrival may hold so many bytes more. While less than the budget is held, a piece is given out
   * whole. Rejects with the signal's reason when it aborts first.
   */
  async take(arrival: Arrival, bytes: number, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted()
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const leave = (): void => {
      arrival.start = undefined
      reject(signal.reason)
    }
    signal.addEventListener('abort', leave, { once: true })
    const start = (): void => {
      arrival.start = undefined
      arrival.held += bytes
      resolve()
    }
    arrival.start = start
    this.#arrivals.add(arrival)
    this.#startNext()
    await promise.finally(() => signal.removeEventListener('abort', leave))
  }

  /** Gives back what an arrival holds. */
  release(arrival: Arrival): void {
    this.#arrivals.delete(arrival)
    this.#startNext()
  }

  #startNext(): void {
    const held = new Map<string, number>()
    for (const { owner, held: bytes } of this.#arrivals) held.set(owner, (held.get(owner) ?? 0) + bytes)
    let total = held.values().reduce((sum, bytes) => sum + bytes, 0)
    const seen = new Set<string>()
    for (const arrival of this.#arrivals) {
      const { owner, held: before, start } = arrival
      const ofOwner = held.get(owner) ?? 0
      const fits = (seen.size === 0 || total < this.#most) && (!seen.has(owner) || ofOwner < this.#mostOfOwner)
      seen.add(owner)
      if (start === undefined || !fits) continue
      start()
      total += arrival.held - before
      held.set(owner, ofOwner + arrival.held - before)
    }
  }
}
