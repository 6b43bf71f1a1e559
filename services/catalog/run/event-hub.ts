import { Broadcast } from '#shared/broadcast/broadcast.ts'
import { Rejection } from '#shared/rejection.ts'
import type { CatalogEvent } from '../domain/catalog-event.ts'

/** What a subscriber receives: `ready` first, `missed` after it fell behind. */
export type HubItem = { readonly type: 'ready' | 'missed' } | { readonly type: 'event'; readonly event: CatalogEvent }

/** Passes events on to subscribers. */
export class EventHub {
  readonly #events = new Broadcast<CatalogEvent>({
    // An event replaces those that say the same about the same location.
    voids: (event) => {
      const key = keyOf(event)
      return (earlier) => keyOf(earlier) === key
    },
    kept: { items: 0, size: 0 },
  })

  publish(event: CatalogEvent): void {
    this.#events.push(event)
  }

  /**
   * Events of the directories that `wants` admits, from now on, until the signal aborts. Of those that wait, the last
   * that says something about a location is left. A subscriber that falls behind gets `missed`.
   */
  async *subscribe(wants: (directory: string) => boolean, signal: AbortSignal): AsyncGenerator<HubItem> {
    for (let type: 'ready' | 'missed' = 'ready'; !signal.aborted; type = 'missed') {
      const reader = this.#events.read(undefined, ({ directory }) => wants(directory))
      // A generator at a `yield` does not observe an abort, so what it holds is released here.
      const leave = (): void => reader.leave()
      signal.addEventListener('abort', leave)
      try {
        yield { type }
        for await (const event of reader) yield { type: 'event', event }
        return
      } catch (error) {
        if (!(error instanceof Rejection) || error.reason !== 'EVENTS_OVERFLOWED') throw error
      } finally {
        signal.removeEventListener('abort', leave)
        leave()
      }
    }
  }
}

function keyOf(event: CatalogEvent): string {
  return JSON.stringify([event.type, event.directory, 'server' in event ? event.server : ''])
}
