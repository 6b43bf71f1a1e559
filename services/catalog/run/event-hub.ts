import type { CatalogEvent } from '../domain/catalog-event.ts'

/** What a subscriber receives: `ready` first, `missed` after it fell behind. */
export type HubItem = { readonly type: 'ready' | 'missed' } | { readonly type: 'event'; readonly event: CatalogEvent }

/** How many events, each of another location, kind or MCP server, may wait for a reader. */
const MAX_WAITING = 1_000

/** Passes events on to subscribers. */
export class EventHub {
  readonly #subscribers = new Set<Subscriber>()

  publish(event: CatalogEvent): void {
    for (const subscriber of this.#subscribers) subscriber.add(event)
  }

  /**
   * Events of the directories that `wanted` admits, from now on, until the signal aborts. A waiting event is replaced
   * by a later one that says the same about the same location. If more than 1,000 wait, they are dropped, and a
   * `missed` follows.
   */
  async *subscribe(wanted: (directory: string) => boolean, signal: AbortSignal): AsyncGenerator<HubItem> {
    const subscriber = new Subscriber(wanted)
    this.#subscribers.add(subscriber)
    // A generator at a `yield` does not observe an abort, so what it holds is released here.
    const leave = (): void => {
      this.#subscribers.delete(subscriber)
      subscriber.wake()
    }
    signal.addEventListener('abort', leave, { once: true })
    try {
      yield { type: 'ready' }
      while (!signal.aborted) {
        const changed = subscriber.changed()
        const item = subscriber.take()
        if (item === undefined) await changed
        else yield item
      }
    } finally {
      signal.removeEventListener('abort', leave)
      leave()
    }
  }
}

class Subscriber {
  readonly #wanted: (directory: string) => boolean
  readonly #waiting = new Map<string, CatalogEvent>()
  #missed = false
  #changed = Promise.withResolvers<void>()

  constructor(wanted: (directory: string) => boolean) {
    this.#wanted = wanted
  }

  add(event: CatalogEvent): void {
    if (!this.#wanted(event.directory)) return
    const key = `${event.type}\0${event.directory}\0${'server' in event ? event.server : ''}`
    if (this.#waiting.size >= MAX_WAITING && !this.#waiting.has(key)) {
      this.#waiting.clear()
      this.#missed = true
    }
    this.#waiting.set(key, event)
    this.wake()
  }

  take(): HubItem | undefined {
    if (this.#missed) {
      this.#missed = false
      return { type: 'missed' }
    }
    for (const [key, event] of this.#waiting) {
      this.#waiting.delete(key)
      return { type: 'event', event }
    }
    return undefined
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
