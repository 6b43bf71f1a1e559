import { z } from 'zod'
import { events, stream } from '../kinds.ts'
import { operation } from '../operation.ts'
import { fromCatalogMessage, fromFailure, fromSessionMessage } from './frames.ts'
import { mergeEvents } from './merge.ts'
import { event } from './schemas.ts'

const position = z.string().min(1).max(1_024, 'Longer than 1024 characters').optional()

/**
 * `GET /api/event`: the events of the workspace as server-sent events (instance facts 3.16). The first
 * frame and durable events carry an `id:`; a client that comes back with it in `Last-Event-ID` (or, where it can't set headers, in the
 * query parameter `after`) gets everything since. Events of locations, which the catalog sends, are not kept. Beside both the
 * server sends:
 *
 * - `server.connected`, always first: everything that happens from now on will come;
 * - `server.resync`: the position is too old, or the catalog was away: events were missed, read everything again;
 * - `server.error`, always last: the stream ends, because the client was too slow or the server failed.
 */
export const subscribeToEvents = operation({
  id: 'event.subscribe',
  method: 'get',
  path: '/api/event',
  family: 'instance',
  summary: 'The events of the workspace as they happen',
  query: z.object({ after: position.meta({ description: 'As `Last-Event-ID`, for who cannot set headers' }) }),
  headers: z.object({ 'last-event-id': position.meta({ description: 'The last `id:` that was read' }) }),
  answer: events(event),
  errors: ['EVENTS_OVERFLOWED'],
  handle: ({ session, catalog }, { query, headers, call, facade: { clock } }) =>
    stream({
      messages: mergeEvents({
        // A browser that reconnects repeats the query, but the header is newer.
        session: session.streamEvents({ position: headers['last-event-id'] ?? query.after ?? '' }, call.options()),
        catalog: () => catalog.streamEvents({}, call.options()),
        fromSession: (message) => fromSessionMessage(message, clock),
        fromCatalog: (message) => fromCatalogMessage(message, clock),
        signal: call.signal,
      }),
      frame: (text) => text,
      failed: (_, { body }) => fromFailure(body, clock),
      heartbeat: 'heartbeat',
    }),
})
