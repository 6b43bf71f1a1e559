import { Broadcast } from '#shared/broadcast/broadcast.ts'
import type { Clock } from '#shared/clock.ts'
import { callOptions, NO_DEADLINE, type Principal } from '#shared/rpc/call-context.ts'
import { detached } from '#shared/telemetry/tracing.ts'
import type { Clients } from '../clients.ts'
import { type Frame, fromCatalogMessage, fromSessionMessage } from './frames.ts'
import { mergeEvents } from './merge.ts'

/**
 * What a client subscribes to: a workspace's events, optionally only those of a session and all below it, or of a
 * directory.
 */
export interface Wanted {
  readonly principal: Principal
  readonly sessionId: string | undefined
  readonly directory: string | undefined
}

/** Live frames for all clients that want the same: one stream of each service, and each event made a frame once. */
export type Feed = Broadcast<Frame>

const feeds = new WeakMap<Clients, Map<string, Feed>>()

/** Returns the feed for a subscription, and opens one if there is none. It is closed when it is no longer used. */
export function feedOf(clients: Clients, wanted: Wanted, clock: Clock): Feed {
  const { principal, sessionId, directory } = wanted
  const ofClients = feeds.get(clients) ?? new Map<string, Feed>()
  feeds.set(clients, ofClients)
  const { organizationId, workspaceId, kind } = principal
  const key = JSON.stringify([organizationId, workspaceId, kind, sessionId, directory])
  const existing = ofClients.get(key)
  if (existing?.isOver === false) return existing
  const closing = new AbortController()
  const close = (): void => {
    if (ofClients.get(key) === feed) ofClients.delete(key)
    closing.abort()
  }
  // It outlives the request that opens it.
  const feed = detached(() => openFeed(clients, wanted, clock, { signal: closing.signal, close }))
  ofClients.set(key, feed)
  return feed
}

function openFeed(
  { session, catalog }: Clients,
  { principal, sessionId, directory }: Wanted,
  clock: Clock,
  { signal, close }: { readonly signal: AbortSignal; readonly close: () => void },
): Feed {
  const options = callOptions({ principal }, { signal, timeoutMs: NO_DEADLINE })
  return new Broadcast<Frame>({
    source: mergeEvents({
      session: session.streamEvents({ sessionId, directory }, options),
      // Events of locations belong to no session.
      catalog: sessionId === undefined ? () => catalog.streamEvents({ directory }, options) : undefined,
      fromSession: (message) => fromSessionMessage(message, clock, directory),
      fromCatalog: (message) => fromCatalogMessage(message, clock),
      signal,
    }),
    positionOf: ({ position }) => position,
    isGap: ({ gap = false }) => gap,
    // Of a removed session, only its last event is replayed.
    voids: ({ sessionId, isRemoval = false }) =>
      isRemoval ? (earlier) => earlier.sessionId === sessionId && earlier.isRemoval !== true : undefined,
    sizeOf: ({ text }) => text.length,
    close,
  })
}
