import { Rejection } from '#shared/rejection.ts'

const MIB = 1_048_576

/** One body's share of the memory; disposing it gives everything back. */
export interface BodyShare extends Disposable {
  /** Takes what a body needs of which so many bytes have arrived. Rejects with TOO_MANY_LARGE_BODIES. */
  grow(size: number): void
}

/**
 * The memory of a process for the bodies of its requests: so many bytes at once, not counting the first MiB of each,
 * since nobody may make it run out of memory.
 */
export class BodyMemory {
  #left: number

  constructor(most = 256 * MIB) {
    this.#left = most
  }

  share(): BodyShare {
    let taken = 0
    return {
      grow: (size) => {
        const more = Math.max(0, size - MIB) - taken
        if (more > this.#left) throw new Rejection('TOO_MANY_LARGE_BODIES', { retry_after: '10' })
        this.#left -= more
        taken += more
      },
      [Symbol.dispose]: () => {
        this.#left += taken
        taken = 0
      },
    }
  }
}
