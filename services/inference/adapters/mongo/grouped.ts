import { isStoreUnavailable } from '#shared/stores/store-outage.ts'

/** Items that a caller wants to be done, all or none of them. */
interface Batch<T> {
  readonly items: readonly T[]
  readonly resolve: () => void
  readonly reject: (error: unknown) => void
}

/**
 * Does work in groups: whatever comes while one group is done makes up the next one. If a group fails for other reasons
 * than an outage, each of its batches is done by itself, so that none fails because of another one.
 */
export class Grouped<T> {
  readonly #work: (items: readonly T[]) => Promise<void>
  #waiting: Batch<T>[] = []
  #isBusy = false

  constructor(work: (items: readonly T[]) => Promise<void>) {
    this.#work = work
  }

  /** Resolves when the items are done. */
  do(items: readonly T[]): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ items, resolve, reject })
      if (!this.#isBusy) void this.#doAll()
    })
  }

  async #doAll(): Promise<void> {
    this.#isBusy = true
    while (this.#waiting.length > 0) {
      const batches = this.#waiting
      this.#waiting = []
      await this.#doGroup(batches)
    }
    this.#isBusy = false
  }

  async #doGroup(batches: readonly Batch<T>[]): Promise<void> {
    try {
      await this.#work(batches.flatMap(({ items }) => items))
      for (const { resolve } of batches) resolve()
    } catch (error) {
      if (batches.length > 1 && !isStoreUnavailable(error)) for (const batch of batches) await this.#doGroup([batch])
      else for (const { reject } of batches) reject(error)
    }
  }
}
