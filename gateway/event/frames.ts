import type { StreamEventsResponse as CatalogMessage } from '#gen/portico/catalog/v1/catalog_service_pb.js'
import type { StreamEventsResponse as SessionMessage } from '#gen/portico/session/v1/session_service_pb.js'
import type { Clock } from '#shared/clock.ts'
import { timedId } from '#shared/ids.ts'
import { RETRY_MS } from '../http/sse.ts'
import { fromCatalogEvent } from './catalog-events.ts'
import { fromEvent } from './mappers.ts'

/** What a message of the session service is on the wire; empty for one of a kind that this version does not know. */
export function fromSessionMessage({ message }: SessionMessage, clock: Clock): string {
  switch (message.case) {
    case 'connected':
      return withPosition(message.value.position, serverEvent('server.connected', {}, clock))
    case 'missed':
      return serverEvent('server.resync', {}, clock)
    case 'event': {
      const json = fromEvent(message.value)
      if (json === undefined) return ''
      return withPosition(message.value.position, `data: ${JSON.stringify(json)}\n\n`)
    }
    case undefined:
      return ''
  }
}

/** What a message of the catalog is on the wire; empty for one that says nothing to clients. */
export function fromCatalogMessage({ message }: CatalogMessage, clock: Clock): string {
  if (message.case === 'missed') return serverEvent('server.resync', {}, clock)
  const json = message.case === 'event' ? fromCatalogEvent(message.value) : undefined
  return json === undefined ? '' : `data: ${JSON.stringify(json)}\n\n`
}

/** The last frame of a stream that fails. */
export function fromFailure(body: unknown, clock: Clock): string {
  return `retry: ${RETRY_MS}\n${serverEvent('server.error', body, clock)}`
}

/** Volatile events have no position, and leave the client at the one before. */
function withPosition(position: string, event: string): string {
  return position === '' ? event : `id: ${position}\n${event}`
}

function serverEvent(type: string, data: unknown, clock: Clock): string {
  return `data: ${JSON.stringify({ id: timedId('evt', clock), created: clock.now(), type, data })}\n\n`
}
