import { isIPv6 } from 'node:net'
import type { Logger } from 'pino'
import type { Clock } from '#shared/clock.ts'

/** Wrong keys that one address may send within the window. */
const MOST = 20
const WINDOW_MS = 60_000
/** Addresses that are remembered; when there are more, the one that was wrong longest ago is forgotten. */
const ADDRESSES = 10_000

/** Remembers who sent wrong keys in the last minute, so that keys can't be guessed by asking often. */
export class WrongKeys {
  readonly #clock: Clock
  readonly #logger: Logger
  /** Address → when it was wrong, oldest first; the address that was wrong last comes last. */
  readonly #times = new Map<string, number[]>()
  #loggedAt = Number.NEGATIVE_INFINITY

  constructor(clock: Clock, logger: Logger) {
    this.#clock = clock
    this.#logger = logger
  }

  /**
   * An address sent a wrong key. Returns undefined when that is to be answered as what it is, else in how many seconds the
   * address may be wrong again.
   */
  add(address: string): number | undefined {
    const now = this.#clock.monotonic()
    const from = networkOf(address)
    const times = (this.#times.get(from) ?? []).filter((time) => time > now - WINDOW_MS)
    this.#times.delete(from)
    this.#times.set(from, times)
    if (times.length < MOST) {
      times.push(now)
      this.#forget()
      return undefined
    }
    if (now >= this.#loggedAt + WINDOW_MS) {
      this.#loggedAt = now
      this.#logger.warn(
        { address: from },
        'An address sends wrong keys or passwords and gets status 429; others are not logged for a minute',
      )
    }
    return Math.max(1, Math.ceil(((times[0] as number) + WINDOW_MS - now) / 1_000))
  }

  #forget(): void {
    for (const address of this.#times.keys()) {
      if (this.#times.size <= ADDRESSES) return
      this.#times.delete(address)
    }
  }
}

/** What one sender has: an IPv4 address, or the first 64 bits of an IPv6 address, within which it can choose freely. */
function networkOf(address: string): string {
  if (!isIPv6(address)) return address
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1]
  if (mapped !== undefined) return mapped
  const [head = '', tail = ''] = address.replace(/%.*$/, '').split('::')
  const groups = head === '' ? [] : head.split(':')
  const after = tail === '' ? [] : tail.split(':')
  // `::` stands for as many zeros as are missing of eight groups.
  while (groups.length + after.length < 8) groups.push('0')
  return `${[...groups, ...after]
    .slice(0, 4)
    .map((group) => Number.parseInt(group, 16).toString(16))
    .join(':')}::/64`
}
