import { setTimeout as delay } from 'node:timers/promises'
import { type EventRecord, isDeletion, parseEvent } from '#services/session/adapters/tables/events.ts'
import type { LostEvent, SessionEvents, TailItem } from '#services/session/ports/event-log.ts'
import type { BroadcastReader } from '#shared/broadcast/broadcast.ts'
import { MAX_TIME_MS } from '#shared/stores/mongo.ts'
import { endOfLog, isKnown, isLost, type LogPlace } from '../change-stream.ts'
import type { Collections } from '../collections.ts'
import { EventFeed, type FeedItem, type PlacedEvent } from './event-feed.ts'
import { EventTexts } from './event-texts.ts'
import { placedEvents } from './placed-events.ts'
import { type EventQuery, listSessionEvents } from './session-events.ts'

const PLACE = /^(?:[0-9A-F]{2}){1,500}$/
const RETRY_MS = 1_000
const LIMIT = { maxTimeMS: MAX_TIME_MS } as const
/** For how many events of the feed texts are read at once by a reader that is behind. */
const AHEAD = 100
/** How many events expire at once. */
const EXPIRED = 1_000
/** If there are more different ones, a notice does not name the events that are lost. */
const MOST_NAMED = 256

/**
 * The event log is the server's log of changes to the events collection, and a position is a place in it. All readers
 * share one feed; a reader that begins further back, or is too slow for it, reads from the server until it has
 * caught up.
 */
export class MongoEventLog implements AsyncDisposable {
  readonly #collections: Collections
  readonly #closing = new AbortController()
  #feed: EventFeed | undefined
  readonly #texts: EventTexts
  /** Events that were written before this time have expired. */
  #expiredBefore = 0
  readonly #isExpired = ({ createTime }: EventRecord): boolean => createTime < this.#expiredBefore

  constructor(collections: Collections) {
    this.#collections = collections
    this.#texts = new EventTexts(collections)
  }

  /** See EventLog.tailEvents. */
  async *tail(workspace: string, position: string | undefined, ended: AbortSignal): AsyncGenerator<TailItem> {
    const signal = AbortSignal.any([ended, this.#closing.signal])
    if (signal.aborted) return
    const feed = this.#open()
    const { stream } = feed
    let reader: BroadcastReader<FeedItem> | undefined
    const release = stream.use()
    // A generator that is suspended at a `yield` does not notice an abort.
    const leave = (): void => {
      reader?.leave()
      release()
    }
    signal.addEventListener('abort', leave)
    try {
      await stream.opened
      const lost = new LostEvents()
      const { last } = stream
      const isKnown = position === undefined || stream.knows(position) || (await this.#isKnown(position, last))
      let place = isKnown && position !== undefined ? position : last
      yield { type: 'ready', position: place }
      if (!isKnown) yield { type: 'missed' }
      let behind = position !== undefined
      let prepared = 0
      while (!signal.aborted && !stream.isOver) {
        if (reader === undefined || reader.isBehind) {
          reader?.leave()
          reader = stream.covers(place) ? stream.read(place, isFor(workspace)) : undefined
          if (reader === undefined) place = yield* this.#catchUp(workspace, feed, { place, lost }, signal)
          continue
        }
        if (behind && reader.number >= prepared) {
          prepared = reader.number + AHEAD
          const ahead = reader.ahead(AHEAD).flatMap(({ record }) => record ?? [])
          this.#texts.prepare(ahead.filter((record) => record.workspace === workspace && !this.#isExpired(record)))
        }
        let item = reader.take()
        if (item === undefined) {
          // The feed may have advanced although nothing was written in this workspace.
          place = later(place, stream.last)
          const missed = lost.end()
          yield* missed
          if (missed.length === 0 && behind) {
            behind = false
            yield { type: 'caught-up', position: place }
          } else if (missed.length === 0) item = (await reader.next()).value
          // Otherwise something may have come meanwhile.
          if (item === undefined) continue
        }
        if (item.record === undefined) {
          // What is missing comes from the server.
          reader.leave()
          reader = undefined
          continue
        }
        const items = await this.#itemsOf({ ...item, record: item.record }, lost, signal)
        place = item.place
        yield* items
      }
    } finally {
      signal.removeEventListener('abort', leave)
      leave()
    }
  }

  /** Ends all readers. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing.abort()
    await this.#feed?.closed
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
    const options = { ...LIMIT, sort: { createTime: 1 }, projection: { _id: 1 }, limit: EXPIRED } as const
    const ids = (await events.find({ createTime: { $lt: before } }, options).toArray()).map(({ _id }) => _id)
    if (ids.length === 0) return 0
    return (await events.deleteMany({ _id: { $in: ids } }, LIMIT)).deletedCount
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

  /** Reads from the server up to where the feed begins; returns the place that was reached. */
  async *#catchUp(
    workspace: string,
    feed: EventFeed,
    { place: from, lost }: { readonly place: LogPlace; readonly lost: LostEvents },
    signal: AbortSignal,
  ): AsyncGenerator<TailItem, LogPlace> {
    const reading = { collections: this.#collections, texts: this.#texts, feed, workspace, isExpired: this.#isExpired }
    let reached = from
    try {
      for await (const { place, record } of placedEvents(reading, from, signal)) {
        const items = record === undefined ? [] : await this.#itemsOf({ record, place }, lost, signal)
        reached = place
        yield* items
        if (feed.stream.covers(place)) break
      }
    } catch (error) {
      if (isLost(error)) {
        reached = feed.stream.last
        lost.end()
        yield { type: 'missed' }
      } else {
        await delay(RETRY_MS, undefined, { signal }).catch(() => {})
      }
    }
    return reached
  }

  #open(): EventFeed {
    if (this.#feed?.stream.isOver !== false) this.#feed = new EventFeed(this.#collections)
    return this.#feed
  }
}

function isFor(workspace: string): (item: FeedItem) => boolean {
  return ({ record }) => record === undefined || record.workspace === workspace
}

function later(a: LogPlace, b: LogPlace): LogPlace {
  return a > b ? a : b
}

/** The events in a row that a reader has missed because they have expired. */
class LostEvents {
  readonly #lost = new Map<string, LostEvent>()

  add(record: EventRecord): void {
    if (this.#lost.size > MOST_NAMED) return
    const { sessionId, directory } = record
    const { event } = isDeletion(record) ? parseEvent(record) : {}
    const deletion = event?.case === 'sessionDeleted' ? event.value : undefined
    this.#lost.set(JSON.stringify([sessionId, directory, event?.case]), { sessionId, directory, deletion })
  }

  /** Ends the row; returns the notice of it, if there is anything in it. */
  end(): readonly TailItem[] {
    const lost = [...this.#lost.values()]
    this.#lost.clear()
    if (lost.length === 0) return []
    return [lost.length > MOST_NAMED ? { type: 'missed' } : { type: 'missed', lost }]
  }
}
