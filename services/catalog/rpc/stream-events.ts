import type { MessageInitShape } from '@bufbuild/protobuf'
import type { ServiceImpl } from '@connectrpc/connect'
import type { CatalogService, StreamEventsResponseSchema } from '#gen/portico/catalog/v1/catalog_service_pb.js'
import { drainSignalOf, principalOf } from '#shared/rpc/call-context.ts'
import type { Locations } from '../ports/locations.ts'
import type { HubItem } from '../run/event-hub.ts'
import type { OpenLocations } from '../run/open-locations.ts'
import { eventToProto } from './convert.ts'

/**
 * Streams the events of the principal's locations, or of one, until the caller leaves or the server stops
 * (SERVICE_CLOSING).
 */
export function streamEvents(dependencies: {
  readonly locations: Locations
  readonly opened: OpenLocations
}): ServiceImpl<typeof CatalogService>['streamEvents'] {
  const { locations, opened } = dependencies
  return async function* ({ directory: only }, context) {
    const principal = principalOf(context)
    const draining = drainSignalOf(context)
    const signal = AbortSignal.any([context.signal, draining])
    const wanted = (directory: string): boolean =>
      (only === undefined || only === directory) && locations.allow(principal, directory)
    for await (const item of opened.events.subscribe(wanted, signal)) yield itemToProto(item)
    draining.throwIfAborted()
  }
}

function itemToProto(item: HubItem): MessageInitShape<typeof StreamEventsResponseSchema> {
  if (item.type === 'event') return { message: { case: 'event', value: eventToProto(item.event) } }
  return { message: { case: item.type === 'ready' ? 'connected' : 'missed', value: {} } }
}
