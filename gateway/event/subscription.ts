import type { Clock } from '#shared/clock.ts'
import type { Call } from '../call.ts'
import type { Clients } from '../clients.ts'
import { type Feed, feedOf, type Wanted } from './feeds.ts'
import { connectedFrame, type Frame, fromSessionMessage } from './frames.ts'

export interface Subscribed extends Wanted {
  readonly clients: Clients
  /** Ends when the client is gone. */
  readonly call: Call
  readonly clock: Clock
  /** The last one that the client has seen; undefined: none. */
  readonly position: string | undefined
}

/**
 * The frames for one client. It shares the feed with all clients that have the same subscription; what it missed is
 * first read for it alone.
 */
export class Subscription implements AsyncIterableIterator<Frame, undefined> {
  readonly #begin: AsyncGenerator<Frame, AsyncIterator<Frame, undefined> | undefined>
  #live: AsyncIterator<Frame, undefined> | undefined

  constructor(subscribed: Subscribed) {
    this.#begin = begin(subscribed)
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  next(): Promise<IteratorResult<Frame, undefined>> {
    // This runs for each event of each client, so a live client reads from the feed directly.
    return this.#live === undefined ? this.#beginning() : this.#live.next()
  }

  async #beginning(): Promise<IteratorResult<Frame, undefined>> {
    const { done, value } = await this.#begin.next()
    if (done !== true) return { done: false, value }
    if (value === undefined) return { done: true, value: undefined }
    this.#live = value
    return value.next()
  }
}

/** The frames until the client joins the others; returns how it goes on. */
async function* begin(subscribed: Subscribed): AsyncGenerator<Frame, AsyncIterator<Frame, undefined> | undefined> {
  const { clients, call, clock, position, sessionId, directory } = subscribed
  const feed = feedOf(clients, subscribed, clock)
  const letGo = feed.use()
  call.signal.addEventListener('abort', letGo)
  await feed.opened
  if (call.over) return undefined
  if (position === undefined || feed.knows(position)) {
    const live = join(feed, call, position)
    yield connectedFrame(position ?? feed.last, clock)
    return live
  }
  let caughtUp = false
  for await (const message of clients.session.streamEvents({ position, sessionId, directory }, call.options())) {
    const { case: kind, value } = message.message
    if (kind === 'caughtUp') caughtUp = true
    else yield fromSessionMessage(message, clock, directory)
    const place = kind === 'caughtUp' || kind === 'event' ? value.position : undefined
    // The feed of another replica may have begun after that; then the next event decides.
    if (caughtUp && place !== undefined && feed.covers(place)) return join(feed, call, place)
  }
  return undefined
}

function join(feed: Feed, { signal, over }: Call, after: string | undefined): AsyncIterator<Frame, undefined> {
  const reader = feed.read(after)
  const leave = (): void => reader.leave()
  signal.addEventListener('abort', leave)
  if (over) leave()
  return reader
}
