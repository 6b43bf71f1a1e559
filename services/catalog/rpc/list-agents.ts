import type { ServiceImpl } from '@connectrpc/connect'
import type { CatalogService } from '#gen/portico/catalog/v1/catalog_service_pb.js'
import { principalOf } from '#shared/rpc/call-context.ts'
import type { Agents } from '../ports/agents.ts'
import type { Locations } from '../ports/locations.ts'
import { toAgent, toLocation } from './convert.ts'

/** Lists every agent of a location, hidden ones and subagents too, the default agent first. */
export function listAgents(dependencies: {
  readonly locations: Locations
  readonly agents: Agents
}): ServiceImpl<typeof CatalogService>['listAgents'] {
  return async (request, context) => {
    const location = await dependencies.locations.resolve(principalOf(context), request.directory)
    const { agents } = await dependencies.agents.list(location)
    return { location: toLocation(location), agents: agents.map(toAgent) }
  }
}
