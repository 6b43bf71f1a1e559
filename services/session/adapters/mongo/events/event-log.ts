import { setTimeout as delay } from 'node:timers/promises'
import type { EventRecord } from '#services/session/adapters/common/event-record.ts'
import type { SessionEvents, TailItem } from '#services/session/ports/event-log.ts'
import { endOfLog, isKnown, isLost, type LogPlace } from '../change-stream.ts'
import type { Collections } from '../collections.ts'
import { EventFeed } from './event-feed.ts'
import type { PlacedEvent } from './event-ring.ts'
import { EventTexts } from './event-texts.ts'
import { expireEvents } from './expire-events.ts'
import { LostEvents } from './lost-events.ts'
import { placedEvents } from './placed-events.ts'
import { type EventQuery, listSessionEvents } from './session-events.ts'

const PLACE = /^(?:[0-9A-F]{2}){1,500}$/
const RETRY_MS = 1_000
/** For how many events of the feed texts are read at once by a reader that is behind. */
const AHEAD = 100

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
  readonly #isExpired = ({ timeCreated }: EventRecord): boolean => timeCreated < this.#expiredBefore
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
      let prepared = 0
      while (!signal.aborted) {
        cursor.number ??= ring.after(cursor.place)
        if (cursor.number === undefined || ring.isBehind(cursor.number)) {
          yield* this.#catchUp(workspace, feed, cursor, signal)
          continue
        }
        const next = ring.next(cursor.number, cursor.place)
        if (next === undefined) {
          const missed = lost.end()
          if (missed.length > 0) {
            yield* missed
            // Something may have come meanwhile.
            continue
          }
          // The ring may have advanced although nothing was written in this workspace.
          if (behind) yield { type: 'caught-up', position: later(cursor.place, ring.last) }
          else await feed.more(signal)
          behind = false
          continue
        }
        if (behind && next.number >= prepared) {
          const ahead = ring.records(next.number, next.number + AHEAD)
          prepared = next.number + ahead.length
          this.#texts.prepare(ahead.filter((record) => record.workspace === workspace && !this.#isExpired(record)))
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
  expire(before: number): Promise<number> {
    this.#expiredBefore = Math.max(this.#expiredBefore, before)
    return expireEvents(this.#collections, before)
  }

  /** The server's log may go back further than events are kept. None: it has expired, or the reader is gone. */
  async #itemsOf({ record, place }: PlacedEvent, lost: LostEvents, signal: AbortSignal): Promise<readonly TailItem[]> {
    if (this.#isExpired(record)) {
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
    const asked = { collections: this.#collections, texts: this.#texts, ring, workspace, isExpired: this.#isExpired }
    try {
      for await (const { place, record } of placedEvents(asked, cursor.place, signal)) {
        const items = record === undefined ? [] : await this.#itemsOf({ record, place }, cursor.lost, signal)
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
