import type { VolatileEvent } from '#services/session/domain/event.ts'
import { EventMerge } from './event-merge.ts'

/** A point in the order in which streams became ready; see `EventHub.mark`. */
export type Mark = number

/** Volatile events that may wait, and characters of their words. */
const MAX_WAITING = 4_096
const MAX_CHARACTERS = 2_097_152

/** The volatile events of a workspace that nobody has taken yet. */
export class PendingEvents {
  readonly merge = new EventMerge()
  overflowed = false
  #since: Mark = Number.POSITIVE_INFINITY
  #changed = Promise.withResolvers<void>()

  /** The stream is ready: everything written from now on will arrive. */
  ready(mark: Mark): void {
    this.#since = mark
  }

  add(event: VolatileEvent, mark: Mark): void {
    // Volatile events are only promised to a stream that is ready.
    if (this.#since === Number.POSITIVE_INFINITY) return
    if (this.merge.size >= MAX_WAITING || this.merge.characters >= MAX_CHARACTERS) this.overflowed = true
    else this.merge.add(event, mark >= this.#since)
    this.wake()
  }

  wake(): void {
    this.#changed.resolve()
  }

  /** Resolves at the next change. */
  changed(): Promise<void> {
    this.#changed = Promise.withResolvers()
    return this.#changed.promise
  }
}
