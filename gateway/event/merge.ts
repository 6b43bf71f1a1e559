import { setTimeout as sleep } from 'node:timers/promises'
import type { StreamEventsResponse as CatalogMessage } from '#gen/portico/catalog/v1/catalog_service_pb.js'
import type { StreamEventsResponse as SessionMessage } from '#gen/portico/session/v1/session_service_pb.js'

/** The two streams, and what their messages are on the wire. */
export interface EventStreams<T> {
  readonly session: AsyncIterable<SessionMessage>
  /** Opens the catalog's stream; called again when it has ended. Undefined: nothing of the catalog is wanted. */
  readonly catalog: (() => AsyncIterable<CatalogMessage>) | undefined
  readonly fromSession: (message: SessionMessage) => T
  /** Never given `connected`. */
  readonly fromCatalog: (message: CatalogMessage) => T
  /** Aborted when nobody reads any more. */
  readonly signal: AbortSignal
}

/** How long a client waits for an unresponsive catalog before its stream begins without it, in milliseconds. */
const READY_MS = 500

/** How long until a catalog that is away is called again, in milliseconds; at random up to twice that. */
const AGAIN_MS = 1_000

/** Says that events may have been missed. */
const MISSED = { message: { case: 'missed' } } as CatalogMessage

/**
 * Merges the events of the catalog into those of the session service, as frames. The session's stream decides when the
 * client's begins, fails and ends. It continues while the catalog is unavailable; when the catalog is back, the client
 * is notified that it may have missed events. Each stream is pulled one message at a time, as the client reads.
 */
export function mergeEvents<T>(streams: EventStreams<T>): AsyncIterator<T, undefined> {
  return new EventMerge(streams)
}

class EventMerge<T> implements AsyncIterator<T, undefined> {
  readonly #streams: EventStreams<T>
  readonly #session: AsyncIterator<SessionMessage>
  /** The client's stream is ready: it has been sent its first frame. */
  #begun = false
  /** What the session's stream yielded while nobody waited for it. */
  #held: Promise<IteratorResult<T, undefined>> | undefined
  #pulling = false
  /** A frame of the catalog that was not taken yet. */
  #aside: { readonly value: T } | undefined
  #waiting: PromiseWithResolvers<IteratorResult<T, undefined>> | undefined
  #taken = Promise.withResolvers<void>()

  constructor(streams: EventStreams<T>) {
    this.#streams = streams
    this.#session = streams.session[Symbol.asyncIterator]()
  }

  next(): Promise<IteratorResult<T, undefined>> {
    if (!this.#begun) return this.#begin()
    const held = this.#held
    if (held !== undefined) {
      this.#held = undefined
      return held
    }
    const aside = this.#aside
    if (aside !== undefined) {
      this.#aside = undefined
      this.#taken.resolve()
      return Promise.resolve({ done: false, value: aside.value })
    }
    this.#waiting = Promise.withResolvers()
    if (!this.#pulling) this.#pull()
    return this.#waiting.promise
  }

  async #begin(): Promise<IteratorResult<T, undefined>> {
    const ready = Promise.withResolvers<void>()
    void this.#follow(ready.resolve)
    const first = await this.#session.next()
    await Promise.race([ready.promise, sleep(READY_MS, undefined, { ref: false })])
    this.#begun = true
    return this.#frame(first)
  }

  /** One message of the session's stream, for whoever waits when it comes. */
  #pull(): void {
    this.#pulling = true
    const frame = this.#session.next().then((result) => this.#frame(result))
    const pulled = (): void => {
      this.#pulling = false
      if (this.#waiting === undefined) this.#held = frame
      else this.#give(frame)
    }
    frame.then(pulled, pulled)
  }

  #frame(result: IteratorResult<SessionMessage>): IteratorResult<T, undefined> {
    if (result.done === true) return { done: true, value: undefined }
    return { done: false, value: this.#streams.fromSession(result.value) }
  }

  #give(result: IteratorResult<T, undefined> | Promise<IteratorResult<T, undefined>>): void {
    const waiting = this.#waiting
    this.#waiting = undefined
    waiting?.resolve(result)
  }

  /** Follows the catalog for as long as the client is there. `ready` is called once its stream is ready, or fails. */
  async #follow(ready: () => void): Promise<void> {
    const { catalog, signal } = this.#streams
    if (catalog === undefined) return ready()
    while (!signal.aborted) {
      await this.#readCatalog(catalog(), ready).catch(() => {})
      ready()
      const again = AGAIN_MS * (1 + Math.random())
      await sleep(again, undefined, { signal, ref: false }).catch(() => {})
    }
  }

  async #readCatalog(messages: AsyncIterable<CatalogMessage>, ready: () => void): Promise<void> {
    for await (const message of messages) {
      if (message.message.case !== 'connected') await this.#offer(message)
      else if (this.#begun) await this.#offer(MISSED)
      else ready()
    }
  }

  /** Resolves when the client has taken the frame of a message. */
  async #offer(message: CatalogMessage): Promise<void> {
    const value = this.#streams.fromCatalog(message)
    if (this.#waiting !== undefined) return this.#give({ done: false, value })
    this.#taken = Promise.withResolvers()
    this.#aside = { value }
    await this.#taken.promise
  }
}
