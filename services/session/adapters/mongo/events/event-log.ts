import { setTimeout as delay } from 'node:timers/promises'
import { isDeletion } from '#services/session/adapters/common/event-record.ts'
import type { SessionEvents, TailItem } from '#services/session/ports/event-log.ts'
import { MAX_TIME_MS } from '#shared/stores/mongo.ts'
import { changesAfter, endOfLog, isKnown, isLost, type LogPlace } from '../change-stream.ts'
import type { Collections } from '../collections.ts'
import { EventFeed } from './event-feed.ts'
import type { PlacedEvent } from './event-ring.ts'
import { EventTexts } from './event-texts.ts'
import { LostEvents } from './lost-events.ts'
import { type EventQuery, listSessionEvents } from './session-events.ts'

const PLACE = /^(?:[0-9A-F]{2}){1,500}$/
/** How long a reader that catches up waits for more before it looks whether the feed has it, in milliseconds. */
const CATCH_UP_MS = 50
const RETRY_MS = 1_000
/** How many events expire at once. */
const EXPIRED = 1_000

/**
 * The position of a reader: its number in the feed's ring, while it has one, and its place in the server's log; and
 * what it has missed since the last event that it got.
 */
interface Cursor {
  number: number | undefined
  place: LogPlace
  readonly lost: LostEvents
}

/**
 * The event log is the server's log of changes to the events collection, and a position is a place in it. All readers
 * share one feed; a reader that begins further back, or is too slow for the feed, reads from the server until it has
 * caught up.
 */
export class MongoEventLog implements AsyncDisposable {
  readonly #collections: Collections
  readonly #closing = new AbortController()
  #feed: Promise<EventFeed> | undefined
  readonly #texts: EventTexts
  /** Events that were written before this time have expired. */
  #expiredBefore = 0
  #readers = 0
  #closed: Promise<void> | undefined

  constructor(collections: Collections) {
    this.#collections = collections
    this.#texts = new EventTexts(collections)
  }

  /** See EventLog.tailEvents. */
  async *tail(workspace: string, position: string | undefined, ended: AbortSignal): AsyncGenerator<TailItem> {
    const signal = AbortSignal.any([ended, this.#closing.signal])
    if (signal.aborted) return
    const release = this.#hold(signal)
    try {
      const feed = await this.#open()
      const { ring } = feed
      const lost = new LostEvents()
      const end = { number: ring.end, place: ring.last, lost }
      const known = position === undefined || ring.has(position) || (await this.#isKnown(position, ring.last))
      const cursor: Cursor = known && position !== undefined ? { number: undefined, place: position, lost } : end
      yield { type: 'ready', position: cursor.place }
      if (!known) yield { type: 'missed' }
      let behind = position !== undefined
      while (!signal.aborted) {
        cursor.number ??= ring.after(cursor.place)
        if (cursor.number === undefined || ring.isBehind(cursor.number)) {
          yield* this.#catchUp(workspace, feed, cursor, signal)
          continue
        }
        const next = ring.next(cursor.number, cursor.place)
        if (next === undefined) {
          yield* lost.end()
          // The ring may have advanced although nothing was written in this workspace.
          if (behind) yield { type: 'caught-up', position: later(cursor.place, ring.last) }
          else await feed.more(signal)
          behind = false
          continue
        }
        const items = next.record.workspace === workspace ? await this.#itemsOf(next, lost, signal) : []
        cursor.number = next.number + 1
        cursor.place = next.place
        yield* items
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

  /** See EventLog.listEvents. */
  list(workspace: string, sessionId: string, query: EventQuery, base = 0): Promise<SessionEvents> {
    const { signal } = this.#closing
    return listSessionEvents(this.#collections, this.#texts, { workspace, sessionId, base, ...query }, signal)
  }

  /** See EventLog.expireEvents. */
  async expire(before: number): Promise<number> {
    this.#expiredBefore = Math.max(this.#expiredBefore, before)
    const { events } = this.#collections
    const options = {
      sort: { timeCreated: 1 },
      projection: { _id: 1 },
      limit: EXPIRED,
      maxTimeMS: MAX_TIME_MS,
    } as const
    const ids = (await events.find({ timeCreated: { $lt: before } }, options).toArray()).map(({ _id }) => _id)
    if (ids.length === 0) return 0
    return (await events.deleteMany({ _id: { $in: ids } }, { maxTimeMS: MAX_TIME_MS })).deletedCount
  }

  /** The server's log may go back further than events are kept. None: it has expired, or the reader is gone. */
  async #itemsOf({ record, place }: PlacedEvent, lost: LostEvents, signal: AbortSignal): Promise<readonly TailItem[]> {
    if (record.timeCreated < this.#expiredBefore) {
      lost.add(record)
      return []
    }
    const event = await this.#texts.complete(record, signal)
    return event === undefined ? [] : [...lost.end(), { type: 'event', event: { ...event, position: place } }]
  }

  /** The server also accepts places that do not exist yet. */
  async #isKnown(position: string, last: LogPlace): Promise<boolean> {
    const { db } = this.#collections
    if (!PLACE.test(position) || (position > last && position > (await endOfLog(db, 'events')))) return false
    return isKnown(db, 'events', position)
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
        const record = change?.operationType === 'insert' ? change.fullDocument : undefined
        // The server's log also contains the events of removed sessions.
        const isSeen = record !== undefined && (isDeletion(record) || !(await this.#texts.isRemoved(record)))
        const items = isSeen ? await this.#itemsOf({ record, place }, cursor.lost, signal) : []
        cursor.place = place
        yield* items
        if (ring.after(place) !== undefined) return
      }
    } catch (error) {
      if (isLost(error)) {
        cursor.number = ring.end
        cursor.place = ring.last
        cursor.lost.end()
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

  /** Counts a reader until it is released or its signal aborts; the last one closes the feed. */
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

function later(a: LogPlace, b: LogPlace): LogPlace {
  return a > b ? a : b
}
