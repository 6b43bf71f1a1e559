import type { CatalogEvent } from '#gen/portico/catalog/v1/event_pb.js'
import type { JsonOf } from '../kinds.ts'
import { fromSetTime } from '../records/time.ts'
import type { event } from './schemas.ts'

/** Undefined for an event of a kind that only a newer catalog knows. */
export function fromCatalogEvent(given: CatalogEvent): JsonOf<typeof event> | undefined {
  if (given.event.case === undefined) return undefined
  return {
    id: given.eventId,
    created: fromSetTime(given.createTime),
    type: 'agent.updated',
    location: { directory: given.directory },
    data: {},
  }
}
