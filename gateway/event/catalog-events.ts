import type { CatalogEvent } from '#gen/portico/catalog/v1/event_pb.js'
import type { JsonOf } from '../kinds.ts'
import type { event as shown } from './schemas.ts'

const TYPES = {
  agentsUpdated: 'agent.updated',
  skillsUpdated: 'skill.updated',
  locationShutdown: 'location.shutdown',
  pluginsUpdated: 'plugin.updated',
} as const
const MCP_TYPES = { mcpServerUpdated: 'mcp.updated', mcpToolsChanged: 'mcp.tools.changed' } as const

/** Undefined for an event of a kind that only a newer catalog knows. */
export function fromCatalogEvent({
  eventId,
  createTime,
  directory,
  event,
}: CatalogEvent): JsonOf<typeof shown> | undefined {
  const head = { id: eventId, created: createTime, location: { directory } }
  switch (event.case) {
    case 'agentsUpdated':
    case 'skillsUpdated':
    case 'locationShutdown':
    case 'pluginsUpdated':
      return { ...head, type: TYPES[event.case], data: {} }
    case 'mcpServerUpdated':
    case 'mcpToolsChanged':
      return { ...head, type: MCP_TYPES[event.case], data: { server: event.value.server } }
    case undefined:
      return undefined
  }
}
