import { setTimeout as delay } from 'node:timers/promises'
import { WaitingReaders } from '#shared/broadcast/waiting-readers.ts'
import { changesAfter, endOfLog, isLost } from '../change-stream.ts'
import type { Collections } from '../collections.ts'
import { EventRing } from './event-ring.ts'

const PIPELINE = [{ $match: { operationType: 'insert' } }]
const AWAIT_MS = 1_000
const RETRY_MS = 1_000

/** The newest events of all workspaces, from one change stream for all readers of this process. */
export class EventFeed implements AsyncDisposable {
  readonly ring: EventRing
  readonly #collections: Collections
  readonly #controller = new AbortController()
  readonly #running: Promise<void>
  readonly #readers = new WaitingReaders()

  /** Resolves once everything that is written from now on will be received. */
  static async open(collections: Collections): Promise<EventFeed> {
    return new EventFeed(collections, new EventRing(await endOfLog(collections.db, 'events')))
  }

  private constructor(collections: Collections, ring: EventRing) {
    this.#collections = collections
    this.ring = ring
    this.#running = this.#run()
  }

  /** Waits for the next change of the ring, or for the signal. */
  more(signal: AbortSignal): Promise<void> {
    return this.#readers.wait(signal)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#controller.abort()
    this.#readers.wake()
    await this.#running
  }

  async #run(): Promise<void> {
    const { signal } = this.#controller
    let place: string | undefined = this.ring.floor
    while (!signal.aborted) {
      try {
        if (place === undefined) {
          place = await endOfLog(this.#collections.db, 'events')
          this.ring.reset(place)
          this.#readers.wake()
        }
        for await (const next of changesAfter(this.#collections.events, PIPELINE, place, signal, AWAIT_MS)) {
          place = next.place
          if (next.change?.operationType !== 'insert') continue
          this.ring.push({ place, record: next.change.fullDocument })
          this.#readers.wake()
        }
      } catch (error) {
        if (isLost(error)) place = undefined
        await delay(RETRY_MS, undefined, { signal }).catch(() => {})
      }
    }
  }
}
