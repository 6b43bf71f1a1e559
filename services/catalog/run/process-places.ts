import { Places } from '#shared/places.ts'

/** The right to have one process alive. Disposing it, once the process has ended, gives it back. */
export interface ProcessPlace extends Disposable {
  /** The process has started, so the next one may. */
  started(): void
  /** The process is working until the returned object is disposed. */
  use(): Disposable
}

interface Holder {
  readonly onWanted: () => void
  uses: number
  /** It has worked, and does not now. */
  idle: boolean
  /** Somebody wants its place. */
  wanted: boolean
}

/** How long the start of one process may delay others. */
const START_MS = 2_000

/**
 * A number of places for processes that stay. Whoever needs one and finds none free takes that of the process that has
 * been idle longest, once it has ended, or waits until one is idle, in order of arrival. A process is idle between the
 * end of a use and the beginning of the next, but not before its first use, when it is starting. Few start at a time:
 * if all did at once, none would be ready in time.
 */
export class ProcessPlaces {
  readonly #places: Places
  readonly #starts: Places
  /** The holders of places; the least recently used first. */
  readonly #holders = new Set<Holder>()

  /** `starts`: how many may start at a time. */
  constructor(size: number, starts: number) {
    this.#places = new Places(size)
    this.#starts = new Places(starts)
  }

  /**
   * Takes a place. `onWanted` is called at most once, while the process is idle: it must be ended, and the place
   * disposed. Throws the signal's reason.
   */
  async take(signal: AbortSignal, onWanted: () => void): Promise<ProcessPlace> {
    const taking = this.#places.take(signal)
    this.#askIdle()
    const place = await taking
    const started = await this.#mayStart(place, signal)
    const holder: Holder = { onWanted, uses: 0, idle: false, wanted: false }
    this.#holders.add(holder)
    return {
      started,
      use: () => this.#use(holder),
      [Symbol.dispose]: () => {
        started()
        if (this.#holders.delete(holder)) place[Symbol.dispose]()
      },
    }
  }

  /** Returns a function to be called when it has started. */
  async #mayStart(place: Disposable, signal: AbortSignal): Promise<() => void> {
    let start: Disposable | undefined
    try {
      start = await this.#starts.take(signal)
    } catch (error) {
      place[Symbol.dispose]()
      throw error
    }
    const started = (): void => {
      clearTimeout(late)
      start?.[Symbol.dispose]()
      start = undefined
    }
    const late = setTimeout(started, START_MS).unref()
    return started
  }

  #use(holder: Holder): Disposable {
    holder.uses++
    holder.idle = false
    let over = false
    return {
      [Symbol.dispose]: () => {
        if (over) return
        over = true
        if (--holder.uses > 0 || !this.#holders.delete(holder)) return
        holder.idle = true
        this.#holders.add(holder)
        this.#askIdle()
      },
    }
  }

  /** Requests as many idle processes to end as callers are waiting. */
  #askIdle(): void {
    let missing = this.#places.waiting
    for (const { wanted } of this.#holders) if (wanted) missing--
    for (const holder of [...this.#holders]) {
      if (missing <= 0) return
      if (!holder.idle || holder.wanted) continue
      holder.wanted = true
      missing--
      holder.onWanted()
    }
  }
}
