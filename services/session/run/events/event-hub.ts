import type { VolatileEvent } from '#services/session/domain/event.ts'
import type { TailItem } from '#services/session/ports/event-log.ts'
import type { SessionStore } from '#services/session/ports/session-store.ts'
import { Rejection } from '#shared/rejection.ts'
import { EventMerge } from './event-merge.ts'

/** What a subscriber gets: `ready` first; `missed` where events are lost. */
export type HubItem = TailItem | { readonly type: 'volatile'; readonly event: VolatileEvent }

/** A moment between the ones at which streams began to stand; see `EventHub.mark`. */
export type Mark = number

/** Volatile events that may wait for a reader, and characters of their words. */
const MAX_WAITING = 4_096
const MAX_CHARACTERS = 2_097_152

/** Merges the durable events of a workspace with the volatile ones of this process. */
export class EventHub {
  readonly #store: Pick<SessionStore, 'tailEvents'>
  readonly #subscribers = new Map<string, Set<Subscriber>>()
  #mark: Mark = 0

  constructor(store: Pick<SessionStore, 'tailEvents'>) {
    this.#store = store
  }

  /**
   * To be taken before a durable event is written: a stream that stands by then will get that event, and keeps the
   * volatile events that follow it back until it has come.
   */
  mark(): Mark {
    return this.#mark
  }

  /** Whether anybody listens: making an event for nobody is a waste. */
  hasListener(workspace: string): boolean {
    return this.#subscribers.has(workspace)
  }

  /** Sends them to those who listen; `mark` was taken before the event that these follow was written. */
  publish(events: readonly VolatileEvent[], mark: Mark): void {
    for (const event of events) {
      for (const subscriber of this.#subscribers.get(event.workspace) ?? []) subscriber.add(event, mark)
    }
  }

  /**
   * Events of a workspace from a position, or from now on, until the signal aborts. Volatile ones that wait are joined
   * where they can be; rejects with EVENTS_OVERFLOWED when more than 4,096, or two million characters, wait even so.
   */
  async *subscribe(workspace: string, position: string | undefined, signal: AbortSignal): AsyncGenerator<HubItem> {
    const left = new AbortController()
    const ends = AbortSignal.any([signal, left.signal])
    const subscriber = new Subscriber()
    const tail = this.#store.tailEvents(workspace, position, ends)[Symbol.asyncIterator]()
    // A generator that stands at a `yield` does not notice an abort: what it holds is given up here.
    ends.addEventListener('abort', () => {
      this.#remove(workspace, subscriber)
      subscriber.wake()
      tail.return?.().catch(() => {})
    })
    this.#add(workspace, subscriber)
    try {
      yield* this.#merge(tail, subscriber, ends)
    } finally {
      left.abort()
    }
  }

  #add(workspace: string, subscriber: Subscriber): void {
    const subscribers = this.#subscribers.get(workspace) ?? new Set()
    this.#subscribers.set(workspace, subscribers.add(subscriber))
  }

  #remove(workspace: string, subscriber: Subscriber): void {
    const subscribers = this.#subscribers.get(workspace)
    subscribers?.delete(subscriber)
    if (subscribers?.size === 0) this.#subscribers.delete(workspace)
  }

  async *#merge(tail: AsyncIterator<TailItem>, subscriber: Subscriber, ends: AbortSignal): AsyncGenerator<HubItem> {
    let pulled: IteratorResult<TailItem> | undefined
    let failure: { readonly error: unknown } | undefined
    const pull = (): void => {
      tail
        .next()
        .then(
          (item) => {
            pulled = item
          },
          (error: unknown) => {
            failure = { error }
          },
        )
        .finally(() => subscriber.wake())
    }
    pull()
    while (!ends.aborted) {
      const changed = subscriber.changed()
      if (failure !== undefined) throw failure.error
      if (subscriber.overflowed) throw new Rejection('EVENTS_OVERFLOWED')
      if (pulled === undefined) {
        const event = subscriber.merge.takeFree()
        if (event !== undefined) yield { type: 'volatile', event }
        else await changed
        continue
      }
      if (pulled.done === true) return
      const item = pulled.value
      if (item.type === 'ready') subscriber.stand(++this.#mark)
      for (const event of subscriber.merge.takeBefore(item)) yield { type: 'volatile', event }
      yield item
      pulled = undefined
      pull()
    }
  }
}

class Subscriber {
  readonly merge = new EventMerge()
  overflowed = false
  #since: Mark = Number.POSITIVE_INFINITY
  #changed = Promise.withResolvers<void>()

  /** The stream stands: everything written from now on will come. */
  stand(mark: Mark): void {
    this.#since = mark
  }

  add(event: VolatileEvent, mark: Mark): void {
    // Nothing volatile is promised to a stream that does not stand yet.
    if (this.#since === Number.POSITIVE_INFINITY) return
    if (this.merge.size >= MAX_WAITING || this.merge.characters >= MAX_CHARACTERS) this.overflowed = true
    else this.merge.add(event, mark >= this.#since)
    this.wake()
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
