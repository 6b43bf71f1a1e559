import { z } from 'zod'
import { events, stream } from '../kinds.ts'
import { operation } from '../operation.ts'
import { name, sessionID, sessionParameter } from '../records/ids.ts'
import { fromFailure, fromLogMessage } from './frames.ts'
import { event, logEntry } from './schemas.ts'
import { Subscription } from './subscription.ts'

/** How long resolving the directory of a filter may take. */
const RESOLVING = { timeoutMs: 30_000 }

const position = z.string().min(1).max(1_024, 'must have at most 1024 characters').optional()
const seq = z
  .string()
  .regex(/^\d{1,15}$/, 'must be the number of an event')
  .optional()

/** An id may contain a comma, but a client that sends one means a list of ids. */
const oneSession = sessionID.regex(/^[^,]*$/, 'must be one session id: a stream covers one session, or all')

/** Which events are wanted; with both filters, those that pass both. */
const filter = {
  sessionID: oneSession
    .optional()
    .meta({ description: 'Only events of this session, which need not exist yet, and of all sessions below it' }),
  location: z
    .object({ directory: name })
    .optional()
    .meta({
      description: 'Only events of sessions in this directory, and of the directory itself',
      param: { style: 'deepObject', explode: true },
    }),
}

/**
 * `GET /api/event`: the events of the workspace as server-sent events. The first frame and durable events carry an
 * `id:`; a client that comes back with it in `Last-Event-ID` (or, where it can't set headers, in the query parameter
 * `after`) gets everything since. Events of locations, which the catalog sends, are not kept. Beside both the server
 * sends:
 *
 * - `server.connected`, always first: everything that happens from now on will come;
 * - `server.resync`: the position is too old, or the catalog was away: events were missed, read everything again;
 * - `server.error`, always last: the stream ends, because the client was too slow, its key is no longer valid, or the
 *   server failed.
 */
export const subscribeToEvents = operation({
  id: 'event.subscribe',
  method: 'get',
  path: '/api/event',
  summary: 'The events of the workspace as they happen',
  query: z.object({
    ...filter,
    after: position.meta({ description: 'Like `Last-Event-ID`, for clients that cannot set headers' }),
  }),
  headers: z.object({ 'last-event-id': position.meta({ description: 'The last `id:` that was received' }) }),
  answer: events(event),
  errors: ['EVENTS_OVERFLOWED'],
  async handle(clients, { query, headers, call, facade: { clock } }) {
    const directory = query.location?.directory
    // Sessions are in the directory that the catalog makes of a path.
    const wanted = directory === undefined ? undefined : { directory }
    const place = wanted && (await clients.catalog.resolveLocation(wanted, call.options(RESOLVING)))
    return stream({
      messages: new Subscription({
        clients,
        call,
        clock,
        principal: call.requirePrincipal(),
        sessionId: query.sessionID,
        directory: place?.location?.directory,
        // A browser that reconnects repeats the query, but the header is newer.
        position: headers['last-event-id'] ?? query.after,
      }),
      frame: ({ text }) => text,
      failed: (_, { body }) => fromFailure(body, clock),
      service: 'session',
      heartbeat: 'heartbeat',
    })
  },
})

/**
 * The log of one session: its durable events after a number, then `log.synced`, then, with `follow`, those that are
 * written later. Each event's `id:` is its number, so that `Last-Event-ID` goes on there. `server.resync` comes first
 * where events that were requested have expired.
 */
export const readSessionLog = operation({
  id: 'experimental.session.log',
  method: 'get',
  path: '/api/experimental/session/{sessionID}/log',
  summary: 'The durable events of a session: past ones and, on request, future ones',
  params: z.object({ sessionID: sessionParameter }),
  query: z.object({
    after: seq.meta({ description: 'Only events with a greater `durable.seq`' }),
    follow: z
      .enum(['true', 'false'])
      .optional()
      .meta({ description: 'Whether the stream continues after `log.synced`; default: false' }),
  }),
  headers: z.object({ 'last-event-id': seq.meta({ description: 'Like `after`, and takes precedence over it' }) }),
  answer: events(logEntry),
  handle: ({ session }, { params: { sessionID: sessionId }, query, headers, call, facade: { clock } }) => {
    const after = headers['last-event-id'] ?? query.after
    const afterSeq = after === undefined ? undefined : Number(after)
    const follow = query.follow === 'true'
    return stream({
      messages: session.streamSessionLog({ sessionId, afterSeq, follow }, call.options()),
      frame: (message) => fromLogMessage(message, sessionId, clock),
      failed: (_, { body }) => fromFailure(body, clock),
      service: 'session',
      heartbeat: 'heartbeat',
    })
  },
})
