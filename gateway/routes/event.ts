import type { Request } from 'express'
import type { StreamEventsResponse } from '#gen/portico/session/v1/session_service_pb.js'
import type { Clock } from '#shared/clock.ts'
import { timedId } from '#shared/ids.ts'
import { Rejection } from '#shared/rejection.ts'
import { callOf } from '../call.ts'
import { publicError } from '../errors/public-error.ts'
import type { Facade, Route } from '../facade.ts'
import { queryText, readQuery } from '../http/query.ts'
import { RETRY_MS, sendEventHeaders, sendEvents } from '../http/sse.ts'
import { eventJson } from '../schemas/event.ts'

/**
 * `GET /api/event`: the events of the workspace as server-sent events (`contract/instance-facts.md` 3.16). The first
 * frame and durable events carry an `id:`; a client that comes back with it in `Last-Event-ID` (or, where it can't set headers, in the
 * query parameter `after`) gets everything since. Beside the events of sessions the server sends:
 *
 * - `server.connected`, always first: everything that happens from now on will come;
 * - `server.resync`: the position is too old, events were missed, read the sessions again;
 * - `server.error`, always last: the stream ends, because the client was too slow or the server failed.
 */
export function eventRoutes(facade: Facade): Route[] {
  const { clients, clock, config, lifecycle } = facade
  return [
    {
      operation: 'event.subscribe',
      method: 'get',
      path: '/api/event',
      async handle(request, response) {
        const call = callOf(response)
        const position = startPosition(request)
        if (request.method === 'HEAD') return sendEventHeaders(response)
        await sendEvents(response, {
          messages: clients.session.streamEvents({ position }, call.options({ timeoutMs: undefined })),
          frame: (message) => frame(message, clock),
          failed(error) {
            const { body, ref } = publicError('instance', error)
            if (ref !== undefined) facade.logger.error({ requestId: call.requestId, ref, err: error }, 'internal error')
            return `retry: ${RETRY_MS}\n${serverEvent('server.error', body, clock)}`
          },
          heartbeat: 'heartbeat',
          heartbeatMs: config.heartbeatMs,
          lifecycle,
        })
      },
    },
  ]
}

function startPosition(request: Request): string {
  const header = request.headers['last-event-id']
  // A browser that reconnects repeats the query, but the header is newer.
  const position = (typeof header === 'string' && header !== '' ? header : queryText(readQuery(request), 'after')) ?? ''
  if (position.length <= 1_024) return position
  throw new Rejection('HEADER_INVALID', { field: 'last-event-id', problem: 'Longer than 1024 characters' })
}

function frame({ message }: StreamEventsResponse, clock: Clock): string {
  switch (message.case) {
    case 'connected':
      return withPosition(message.value.position, serverEvent('server.connected', {}, clock))
    case 'missed':
      return serverEvent('server.resync', {}, clock)
    case 'event': {
      const json = eventJson(message.value)
      if (json === undefined) return ''
      return withPosition(message.value.position, `data: ${JSON.stringify(json)}\n\n`)
    }
    case undefined:
      return ''
  }
}

/** Volatile events have no position, and leave the client at the one before. */
function withPosition(position: string, event: string): string {
  return position === '' ? event : `id: ${position}\n${event}`
}

function serverEvent(type: string, data: unknown, clock: Clock): string {
  return `data: ${JSON.stringify({ id: timedId('evt', clock), created: clock.now(), type, data })}\n\n`
}
