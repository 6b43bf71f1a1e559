import type { Logger } from 'pino'
import type { Clock } from '#shared/clock.ts'

/** Wrong keys that one client may send within the window. */
const MOST = 20
const WINDOW_MS = 60_000
/** Clients that are remembered; when there are more, the one that was wrong longest ago is forgotten. */
const CLIENTS = 10_000

/** Remembers who sent wrong keys in the last minute, so that keys can't be guessed by trying many. */
export class WrongKeys {
  readonly #clock: Clock
  readonly #logger: Logger
  /** Client network → when it was wrong, oldest first; the one that was wrong last comes last. */
  readonly #times = new Map<string, number[]>()
  #loggedAt = Number.NEGATIVE_INFINITY

  constructor(clock: Clock, logger: Logger) {
    this.#clock = clock
    this.#logger = logger
  }

  /**
   * A client of this network sent a wrong key. Returns undefined when that is to be answered as what it is, else in how many seconds the
   * network may be wrong again.
   */
  add(network: string): number | undefined {
    const now = this.#clock.monotonic()
    const times = (this.#times.get(network) ?? []).filter((time) => time > now - WINDOW_MS)
    this.#times.delete(network)
    this.#times.set(network, times)
    if (times.length < MOST) {
      times.push(now)
      this.#forget()
      return undefined
    }
    if (now >= this.#loggedAt + WINDOW_MS) {
      this.#loggedAt = now
      this.#logger.warn(
        { address: network },
        'An address sends wrong keys or passwords and gets status 429; others are not logged for a minute',
      )
    }
    return Math.max(1, Math.ceil(((times[0] as number) + WINDOW_MS - now) / 1_000))
  }

  #forget(): void {
    for (const network of this.#times.keys()) {
      if (this.#times.size <= CLIENTS) return
      this.#times.delete(network)
    }
  }
}
