import type { VolatileEvent } from '#services/session/domain/event.ts'
import type { LostEvent, TailItem } from '#services/session/ports/event-log.ts'
import type { BroadcastReader } from '#shared/broadcast/broadcast.ts'
import { detached } from '#shared/telemetry/tracing.ts'
import type { Mark } from './event-merge.ts'
import { type FeedItem, type FeedStore, WorkspaceFeed } from './workspace-feed.ts'

export type { Mark } from './event-merge.ts'

/**
 * What a subscriber receives: `ready` first; `missed` where events are lost; after a resume, `caught-up` once it has
 * everything that was written before.
 */
export type HubItem = FeedItem | Extract<TailItem, { readonly type: 'caught-up' }>

/**
 * Which events a subscriber gets: those of a session and all sessions below it, in a directory; absent: of any session,
 * or in any directory. A directory has the removals of all sessions, since one that has moved away may have left events
 * there.
 */
export interface EventFilter {
  readonly sessionId?: string | undefined
  readonly directory?: string | undefined
}

/** Merges the durable events of each workspace with the volatile ones of this process, once for all subscribers. */
export class EventHub {
  readonly #store: FeedStore
  readonly #feeds = new Map<string, WorkspaceFeed>()
  #mark: Mark = 0

  constructor(store: FeedStore) {
    this.#store = store
  }

  /**
   * To be taken before a durable event is written. A stream that is ready by then will get that event, and holds back
   * the volatile events that follow it until it has arrived.
   */
  mark(): Mark {
    return this.#mark
  }

  /** Whether there are subscribers; without any, events need not be made. */
  hasListener(workspace: string): boolean {
    return this.#feeds.has(workspace)
  }

  /** Sends volatile events to subscribers; `mark` was taken before the event that these follow was written. */
  publish(events: readonly VolatileEvent[], mark: Mark): void {
    for (const event of events) this.#feeds.get(event.workspace)?.pending.add(event, mark)
  }

  /**
   * Events of a workspace from a position, or from now on, until the signal aborts. Earlier events are read for this
   * subscriber alone, at its own pace and without volatile events; then it joins the others. Waiting volatile events
   * are merged where possible. Rejects with EVENTS_OVERFLOWED when more than 4,096 events, or two million characters,
   * still wait, or when the subscriber has fallen too far behind the others (`Broadcast`).
   */
  async *subscribe(
    workspace: string,
    position: string | undefined,
    signal: AbortSignal,
    filter: EventFilter = {},
  ): AsyncGenerator<HubItem> {
    if (signal.aborted) return
    const feed = this.#feedOf(workspace)
    const left = new AbortController()
    const ends = AbortSignal.any([signal, left.signal])
    const { stream } = feed
    const leaving = [stream.use()]
    // A generator that is suspended at a `yield` does not notice an abort, so its resources are released here.
    ends.addEventListener('abort', () => {
      for (const leave of leaving) leave()
    })
    try {
      await stream.opened
      if (ends.aborted) return
      const join = (after?: string): BroadcastReader<FeedItem> => {
        const reader = stream.read(after, wanted(filter))
        leaving.push(() => reader.leave())
        return reader
      }
      if (position === undefined || stream.knows(position)) {
        const reader = join(position)
        yield { type: 'ready', position: position ?? stream.last }
        if (position !== undefined) yield { type: 'caught-up', position }
        yield* reader
        return
      }
      const tail = this.#store.tailEvents(workspace, position, ends)[Symbol.asyncIterator]()
      leaving.push(() => void tail.return?.().catch(() => {}))
      const after = yield* replay(tail, feed, filter, ends)
      if (!ends.aborted) yield* join(after)
    } finally {
      left.abort()
    }
  }

  #feedOf(workspace: string): WorkspaceFeed {
    const existing = this.#feeds.get(workspace)
    if (existing?.stream.isOver === false) return existing
    const closed = (): void => {
      if (this.#feeds.get(workspace) === feed) this.#feeds.delete(workspace)
    }
    // It outlives the call that opens it.
    const feed = detached(() => new WorkspaceFeed(this.#store, workspace, { ready: () => ++this.#mark, closed }))
    this.#feeds.set(workspace, feed)
    return feed
  }
}

/** Yields earlier events up to the position where the feed continues, and returns that position. */
async function* replay(
  tail: AsyncIterator<TailItem>,
  { stream, ancestors }: WorkspaceFeed,
  filter: EventFilter,
  signal: AbortSignal,
): AsyncGenerator<HubItem, string> {
  const wants = wanted(filter)
  const concerns = concerning(filter)
  /** What is not known concerns everybody. */
  const loses = async (lost: readonly LostEvent[] | undefined): Promise<boolean> => {
    for (const { deletion, ...event } of lost ?? []) {
      const ids = deletion?.ancestorIds ?? (await ancestors.ofSession(event.sessionId, signal))
      if (concerns(event, deletion !== undefined, ids)) return true
    }
    return lost === undefined
  }
  let caughtUp = false
  for (;;) {
    const { done, value: item } = await tail.next()
    if (done === true) return stream.last
    if (item.type === 'event') {
      const event = { ...item, ancestors: await ancestors.of(item.event, signal) }
      if (wants(event)) yield event
    } else if (item.type !== 'missed' || (await loses(item.lost))) yield item
    if (item.type === 'caught-up') caughtUp = true
    const position = item.type === 'event' ? item.event.position : item.type === 'missed' ? '' : item.position
    if (caughtUp && stream.covers(position)) {
      // No need to wait for more: everything written meanwhile comes from the feed.
      tail.return?.().catch(() => {})
      return position
    }
  }
}

function wanted(filter: EventFilter): (item: FeedItem) => boolean {
  const concerns = concerning(filter)
  return (item) => {
    if (item.type !== 'event' && item.type !== 'volatile') return true
    return concerns(item.event, item.event.event.case === 'sessionDeleted', item.ancestors)
  }
}

/** Whether a subscriber gets an event, given the ids of its session's ancestors. */
function concerning({ sessionId, directory }: EventFilter) {
  return (event: Omit<LostEvent, 'deletion'>, isDeletion: boolean, ancestors: readonly string[]): boolean => {
    if (directory !== undefined && event.directory !== directory && !isDeletion) return false
    return sessionId === undefined || event.sessionId === sessionId || ancestors.includes(sessionId)
  }
}
