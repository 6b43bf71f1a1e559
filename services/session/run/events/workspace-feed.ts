import { charactersOf, type DurableEvent, type VolatileEvent } from '#services/session/domain/event.ts'
import type { TailItem } from '#services/session/ports/event-log.ts'
import type { SessionStore } from '#services/session/ports/session-store.ts'
import { Broadcast } from '#shared/broadcast/broadcast.ts'
import { Rejection } from '#shared/rejection.ts'
import { Ancestors } from './ancestors.ts'
import { PendingEvents } from './event-merge.ts'

/** The overhead of an event, in characters. */
const BASE = 300

export type FeedEvent =
  | { readonly type: 'event'; readonly event: DurableEvent; readonly ancestors: readonly string[] }
  | { readonly type: 'volatile'; readonly event: VolatileEvent; readonly ancestors: readonly string[] }

/** What a feed consists of: `ready` first, `missed` where events are lost. */
export type FeedItem = FeedEvent | Exclude<TailItem, { readonly type: 'event' | 'caught-up' }>

export type FeedStore = Pick<SessionStore, 'tailEvents' | 'getSession'>

/**
 * The events of a workspace for all subscribers of this process: its log, which is read once, interleaved with the
 * volatile events.
 */
export class WorkspaceFeed {
  readonly pending = new PendingEvents()
  readonly ancestors: Ancestors
  readonly stream: Broadcast<FeedItem>
  readonly #closing = new AbortController()
  readonly #tail: AsyncIterator<TailItem>

  /**
   * `ready` is called when the log's reader is ready, and numbers that moment; `closed` is called when the feed is no
   * longer used.
   */
  constructor(store: FeedStore, workspace: string, { ready, closed }: { ready: () => number; closed: () => void }) {
    this.ancestors = new Ancestors(store, workspace)
    this.#tail = store.tailEvents(workspace, undefined, this.#closing.signal)[Symbol.asyncIterator]()
    this.stream = new Broadcast<FeedItem>({
      source: this.#merge(ready),
      positionOf,
      isGap: ({ type }) => type === 'missed',
      voids,
      sizeOf,
      close: () => {
        closed()
        this.#close()
      },
    })
  }

  #close(): void {
    this.#closing.abort()
    this.pending.wake()
    // A generator that is suspended at a `yield` does not notice an abort.
    this.#tail.return?.().catch(() => {})
  }

  async *#merge(ready: () => number): AsyncGenerator<FeedItem, undefined> {
    const { pending, ancestors } = this
    const { signal } = this.#closing
    let pulled: IteratorResult<TailItem> | undefined
    let failure: { readonly error: unknown } | undefined
    const pull = (): void => {
      this.#tail
        .next()
        .then(
          (item) => {
            pulled = item
          },
          (error: unknown) => {
            failure = { error }
          },
        )
        .finally(() => pending.wake())
    }
    const volatile = async (event: VolatileEvent): Promise<FeedItem> => {
      return { type: 'volatile', event, ancestors: await ancestors.of(event, signal) }
    }
    pull()
    while (!signal.aborted) {
      const changed = pending.changed()
      if (failure !== undefined) throw failure.error
      if (pending.overflowed) throw new Rejection('EVENTS_OVERFLOWED')
      if (pulled === undefined) {
        const event = pending.merge.takeFree()
        if (event !== undefined) yield await volatile(event)
        else await changed
        continue
      }
      if (pulled.done === true) return
      const item = pulled.value
      if (item.type === 'ready') pending.ready(ready())
      for (const event of pending.merge.takeBefore(item)) yield await volatile(event)
      if (item.type === 'event') yield { ...item, ancestors: await ancestors.of(item.event, signal) }
      else if (item.type !== 'caught-up') yield item
      pulled = undefined
      pull()
    }
  }
}

function positionOf(item: FeedItem): string | undefined {
  if (item.type === 'ready') return item.position
  return item.type === 'event' ? item.event.position : undefined
}

/** Of a removed session, only its last event is replayed. */
function voids(item: FeedItem): ((earlier: FeedItem) => boolean) | undefined {
  if (item.type !== 'event' || item.event.event.case !== 'sessionDeleted') return undefined
  const { sessionId } = item.event
  return (earlier) =>
    (earlier.type === 'event' || earlier.type === 'volatile') &&
    earlier.event.sessionId === sessionId &&
    earlier.event.event.case !== 'sessionDeleted'
}

/** Characters that an item keeps in memory, about. */
function sizeOf(item: FeedItem): number {
  return BASE + (item.type === 'event' || item.type === 'volatile' ? charactersOf(item.event.event) : 0)
}
