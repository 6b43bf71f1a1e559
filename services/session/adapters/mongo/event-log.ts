import { setTimeout as delay } from 'node:timers/promises'
import type { TailItem } from '#services/session/ports/event-log.ts'
import { type EventRecord, toDurableEvent } from '../common/records.ts'
import { changesAfter, isKnown, isLost, type Place } from './change-stream.ts'
import type { Collections } from './collections.ts'
import { EventFeed } from './event-feed.ts'
import type { PlacedEvent } from './event-ring.ts'

const PLACE = /^(?:[0-9A-F]{2}){1,500}$/i
/** How long a reader that catches up waits for more before it looks whether the feed has it, in milliseconds. */
const CATCH_UP_MS = 50
const RETRY_MS = 1_000

/** Where a reader stands: its number in the feed's ring, while it has one, and its place in the server's log. */
interface Cursor {
  number: number | undefined
  place: Place
}

/**
 * The event log: the server's log of changes to the events collection. A position is a place there. All readers share
 * one feed; one that comes from further back, or is too slow for the feed, reads from the server until it has caught up.
 */
export class MongoEventLog implements AsyncDisposable {
  readonly #collections: Collections
  readonly #closing = new AbortController()
  #feed: Promise<EventFeed> | undefined
  #readers = 0
  #closed: Promise<void> | undefined

  constructor(collections: Collections) {
    this.#collections = collections
  }

  /** See SessionStore.tailEvents. */
  async *tail(workspace: string, position: string | undefined, ended: AbortSignal): AsyncGenerator<TailItem> {
    const signal = AbortSignal.any([ended, this.#closing.signal])
    if (signal.aborted) return
    const release = this.#hold(signal)
    try {
      const feed = await this.#open()
      const { ring } = feed
      const end = { number: ring.end, place: ring.last }
      const known = position === undefined || ring.has(position) || (await this.#isKnown(position))
      const cursor: Cursor = known && position !== undefined ? { number: undefined, place: position } : end
      yield { type: 'ready', position: cursor.place }
      if (!known) yield { type: 'missed' }
      while (!signal.aborted) {
        cursor.number ??= ring.after(cursor.place)
        if (cursor.number === undefined || ring.isBehind(cursor.number)) {
          yield* this.#catchUp(workspace, feed, cursor, signal)
          continue
        }
        const next = ring.next(cursor.number, cursor.place)
        if (next === undefined) {
          await feed.more(signal)
          continue
        }
        cursor.number = next.number + 1
        cursor.place = next.place
        if (next.record.workspace === workspace) yield toItem(next)
      }
    } finally {
      release()
    }
  }

  /** Ends all readers. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing.abort()
    await this.#closed
  }

  async #isKnown(position: string): Promise<boolean> {
    return PLACE.test(position) && (await isKnown(this.#collections.db, 'events', position))
  }

  /** Reads from the server up to where the feed's ring begins. */
  async *#catchUp(
    workspace: string,
    { ring }: EventFeed,
    cursor: Cursor,
    signal: AbortSignal,
  ): AsyncGenerator<TailItem> {
    cursor.number = undefined
    const pipeline = [{ $match: { operationType: 'insert', 'fullDocument.workspace': workspace } }]
    const { events } = this.#collections
    try {
      for await (const { place, change } of changesAfter(events, pipeline, cursor.place, signal, CATCH_UP_MS)) {
        cursor.place = place
        if (change?.operationType === 'insert') yield toItem({ place, record: change.fullDocument })
        if (ring.after(place) !== undefined) return
      }
    } catch (error) {
      if (isLost(error)) {
        cursor.number = ring.end
        cursor.place = ring.last
        yield { type: 'missed' }
      } else {
        await delay(RETRY_MS, undefined, { signal }).catch(() => {})
      }
    }
  }

  async #open(): Promise<EventFeed> {
    this.#feed ??= EventFeed.open(this.#collections)
    try {
      return await this.#feed
    } catch (error) {
      this.#feed = undefined
      throw error
    }
  }

  async #closeFeed(): Promise<void> {
    const feed = this.#feed
    this.#feed = undefined
    await (await feed?.catch(() => undefined))?.[Symbol.asyncDispose]()
  }

  /** Counts a reader until it lets go or its signal aborts; the last one closes the feed. */
  #hold(signal: AbortSignal): () => void {
    this.#readers++
    let held = true
    const release = (): void => {
      signal.removeEventListener('abort', release)
      if (held && --this.#readers === 0) this.#closed = this.#closeFeed()
      held = false
    }
    signal.addEventListener('abort', release, { once: true })
    return release
  }
}

function toItem({ place, record }: PlacedEvent & { readonly record: EventRecord }): TailItem {
  return { type: 'event', event: toDurableEvent(record, place) }
}
