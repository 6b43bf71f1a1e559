import { Rejection } from '#shared/rejection.ts'

const MIB = 1_048_576

/** One body's share of the memory; disposing it gives everything back. */
export interface BodyShare extends Disposable {
  /** Takes what a body needs of which so many bytes have arrived. Rejects with TOO_MANY_LARGE_BODIES. */
  grow(size: number): void
}

/**
 * The memory of a process for the bodies of its requests: so many bytes at once, not counting the first MiB of each,
 * since nobody may make it run out of memory. An owner may take half of it, so that others still have room.
 */
export class BodyMemory {
  readonly #most: number
  readonly #byOwner = new Map<string, number>()
  #taken = 0

  constructor(most = 256 * MIB) {
    this.#most = most
  }

  /** `owner`: an organization, or the address of a client without one. */
  share(owner: string): BodyShare {
    let size = 0
    const resize = (next: number): void => {
      const more = next - size
      const ofOwner = (this.#byOwner.get(owner) ?? 0) + more
      if (more > 0 && (this.#taken + more > this.#most || ofOwner > this.#most / 2)) {
        throw new Rejection('TOO_MANY_LARGE_BODIES', { retry_after: '10' })
      }
      this.#taken += more
      if (ofOwner === 0) this.#byOwner.delete(owner)
      else this.#byOwner.set(owner, ofOwner)
      size = next
    }
    return {
      grow: (bytes) => resize(Math.max(0, bytes - MIB)),
      [Symbol.dispose]: () => resize(0),
    }
  }
}
