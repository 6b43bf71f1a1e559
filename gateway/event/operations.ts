import { z } from 'zod'
import { events, stream } from '../kinds.ts'
import { operation } from '../operation.ts'
import { fromFailure, fromStreamEvents } from './frames.ts'
import { event } from './schemas.ts'

const position = z.string().min(1).max(1_024, 'Longer than 1024 characters').optional()

/**
 * `GET /api/event`: the events of the workspace as server-sent events (`contract/instance-facts.md` 3.16). The first
 * frame and durable events carry an `id:`; a client that comes back with it in `Last-Event-ID` (or, where it can't set headers, in the
 * query parameter `after`) gets everything since. Beside the events of sessions the server sends:
 *
 * - `server.connected`, always first: everything that happens from now on will come;
 * - `server.resync`: the position is too old, events were missed, read the sessions again;
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
  errors: ['EVENTS_OVERFLOWED', 'REQUEST_INVALID'],
  handle: ({ session }, { query, headers, call, facade: { clock } }) =>
    stream({
      // A browser that reconnects repeats the query, but the header is newer.
      messages: session.streamEvents({ position: headers['last-event-id'] ?? query.after ?? '' }, call.options()),
      frame: (message) => fromStreamEvents(message, clock),
      failed: (_, { body }) => fromFailure(body, clock),
      heartbeat: 'heartbeat',
    }),
})
