import type { Logger } from 'pino'
import type { Clock } from '#shared/clock.ts'

/** Wrong keys that one client may send within the window. */
const MOST = 20
const WINDOW_MS = 60_000
/** How many clients are remembered; beyond that, the one whose last wrong key is oldest is forgotten. */
const CLIENTS = 10_000

/** Remembers who sent wrong keys in the last minute, so that keys can't be guessed by trying many. */
export class WrongKeys {
  readonly #clock: Clock
  readonly #logger: Logger
  /** Client network → the times of its wrong keys, oldest first; the network with the latest one comes last. */
  readonly #times = new Map<string, number[]>()
  #loggedAt = Number.NEGATIVE_INFINITY

  constructor(clock: Clock, logger: Logger) {
    this.#clock = clock
    this.#logger = logger
  }

  /**
   * Records a wrong key from this network. Returns undefined below the limit, else the seconds until the network may
   * send another wrong one.
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
        'An address that sent wrong keys or passwords gets status 429; further addresses are not logged for a minute',
      )
    }
    const [oldest = now] = times
    return Math.max(1, Math.ceil((oldest + WINDOW_MS - now) / 1_000))
  }

  #forget(): void {
    for (const network of this.#times.keys()) {
      if (this.#times.size <= CLIENTS) return
      this.#times.delete(network)
    }
  }
}
