import { setTimeout as delay } from 'node:timers/promises'
import { type EventRecord, isDeletion } from '#services/session/adapters/tables/events.ts'
import { Broadcast } from '#shared/broadcast/broadcast.ts'
import { changesAfter, endOfLog, isLost, type LogPlace } from '../change-stream.ts'
import type { Collections } from '../collections.ts'

const PIPELINE = [{ $match: { operationType: 'insert' } }]
const AWAIT_MS = 1_000
const RETRY_MS = 1_000
/** How much is kept for readers; those that are further behind read from the server. */
const KEPT = { items: 1_000, size: 8 * 1024 * 1024 }

export interface PlacedEvent {
  readonly place: LogPlace
  readonly record: EventRecord
}

/** An event; or, without one, the place where the feed begins, or begins again after a gap. */
export type FeedItem = { readonly place: LogPlace; readonly record: EventRecord | undefined }

/** The newest events of all workspaces, from one change stream for all readers of this process. */
export class EventFeed {
  readonly stream: Broadcast<FeedItem>
  /** How many sessions were removed, as far as is known; a gap counts as well. */
  removals = 0
  /** Settles when the change stream is released. */
  readonly closed: Promise<void>
  readonly #collections: Collections

  constructor(collections: Collections) {
    this.#collections = collections
    const closing = new AbortController()
    const closed = Promise.withResolvers<void>()
    this.closed = closed.promise
    this.stream = new Broadcast<FeedItem>({
      source: this.#follow(closing.signal, closed.resolve),
      isEager: true,
      positionOf: ({ place }) => place,
      isGap: ({ record }) => record === undefined,
      // Of a removed session, only its last event is replayed.
      voids: ({ record }) =>
        record === undefined || !isDeletion(record)
          ? undefined
          : ({ record: earlier }) =>
              earlier?.workspace === record.workspace && earlier.sessionId === record.sessionId && !isDeletion(earlier),
      sizeOf: ({ record }) => record?.data.length ?? 0,
      most: KEPT,
      kept: KEPT,
      close: () => closing.abort(),
    })
  }

  /** Everything that is written after its first item will be received. */
  async *#follow(signal: AbortSignal, closed: () => void): AsyncGenerator<FeedItem, undefined> {
    try {
      const { db, events } = this.#collections
      let place: LogPlace | undefined = await endOfLog(db, 'events')
      yield { place, record: undefined }
      while (!signal.aborted) {
        try {
          if (place === undefined) {
            place = await endOfLog(db, 'events')
            this.removals++
            yield { place, record: undefined }
          }
          for await (const next of changesAfter(events, PIPELINE, place, signal, AWAIT_MS)) {
            place = next.place
            if (next.change?.operationType !== 'insert') continue
            const record = next.change.fullDocument
            if (isDeletion(record)) this.removals++
            yield { place, record }
          }
        } catch (error) {
          if (isLost(error)) place = undefined
          await delay(RETRY_MS, undefined, { signal }).catch(() => {})
        }
      }
    } finally {
      closed()
    }
  }
}
