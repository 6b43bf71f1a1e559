import type { CatalogEvent } from '#gen/portico/catalog/v1/event_pb.js'
import type { JsonOf } from '../kinds.ts'
import { fromSetTime } from '../records/time.ts'
import type { event } from './schemas.ts'

const TYPES = { agentsUpdated: 'agent.updated', skillsUpdated: 'skill.updated' } as const

/** Undefined for an event of a kind that only a newer catalog knows. */
export function fromCatalogEvent(given: CatalogEvent): JsonOf<typeof event> | undefined {
  const type = given.event.case && TYPES[given.event.case]
  if (type === undefined) return undefined
  return {
    id: given.eventId,
    created: fromSetTime(given.createTime),
    type,
    location: { directory: given.directory },
    data: {},
  }
}
