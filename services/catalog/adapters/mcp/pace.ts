import { setTimeout as delay } from 'node:timers/promises'

/**
 * The average rate at which a server is read, 4 MiB and 5,000 messages a second, since parsing what it sends delays
 * everybody else.
 */
const BYTES_PER_MS = 4_194
const MESSAGE_MS = 0.2
/** Shorter pauses are added up. */
const LEAST_MS = 2

/** Maximum size of a message that answers no request. */
export const MAX_UNSOLICITED_BYTES = 256 << 10

/** Slows down the reading of one server, or of one response. */
export class Pace {
  #due = 0

  /** Pauses for as long as so much of what was read allows. */
  async pass(messages: number, bytes: number): Promise<void> {
    this.#due += messages * MESSAGE_MS + bytes / BYTES_PER_MS
    if (this.#due < LEAST_MS) return
    const pause = this.#due
    this.#due = 0
    await delay(pause)
  }
}
