import { create } from '@bufbuild/protobuf'
import {
  EventsConnectedSchema,
  EventsMissedSchema,
  type StreamEventsResponse,
} from '#gen/portico/catalog/v1/catalog_service_pb.js'
import type { CatalogEvent } from '#gen/portico/catalog/v1/event_pb.js'
import { Broadcast } from '#shared/broadcast/broadcast.ts'
import { Rejection } from '#shared/rejection.ts'

/** Passes events on to subscribers. */
export class EventHub {
  readonly #events = new Broadcast<{ readonly key: string; readonly event: CatalogEvent }>({
    // An event replaces those that say the same about the same location.
    voids:
      ({ key }) =>
      (earlier) =>
        earlier.key === key,
    kept: { items: 0, size: 0 },
  })

  publish(event: CatalogEvent): void {
    this.#events.push({ key: keyOf(event), event })
  }

  /**
   * Events of the directories that `wants` admits, from now on, until the signal aborts. Of those that wait, the last
   * that says something about a location is left. The first message confirms that the subscription has begun; another
   * one follows when the subscriber fell behind and missed events.
   */
  async *subscribe(
    wants: (directory: string) => boolean,
    signal: AbortSignal,
  ): AsyncGenerator<StreamEventsResponse['message']> {
    let first: StreamEventsResponse['message'] = { case: 'connected', value: create(EventsConnectedSchema) }
    while (!signal.aborted) {
      const reader = this.#events.read(undefined, ({ event: { directory } }) => wants(directory))
      // A generator at a `yield` does not observe an abort, so what it holds is released here.
      const leave = (): void => reader.leave()
      signal.addEventListener('abort', leave)
      try {
        yield first
        for await (const { event } of reader) yield { case: 'event', value: event }
        return
      } catch (error) {
        if (!(error instanceof Rejection) || error.reason !== 'EVENTS_OVERFLOWED') throw error
        first = { case: 'missed', value: create(EventsMissedSchema) }
      } finally {
        signal.removeEventListener('abort', leave)
        leave()
      }
    }
  }
}

function keyOf({ directory, event }: CatalogEvent): string {
  return JSON.stringify([event.case, directory, event.value])
}
