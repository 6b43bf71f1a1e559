import type { ServiceImpl } from '@connectrpc/connect'
import type { CatalogService } from '#gen/portico/catalog/v1/catalog_service_pb.js'
import { principalOf } from '#shared/rpc/call-context.ts'
import type { Locations } from '../ports/locations.ts'
import type { OpenLocations } from '../run/open-locations.ts'
import { agentToProto, locationToProto } from './convert.ts'

/** Lists every agent of a location, hidden ones and subagents too, the default agent first. */
export function listAgents(dependencies: {
  readonly locations: Locations
  readonly opened: OpenLocations
}): ServiceImpl<typeof CatalogService>['listAgents'] {
  const { locations, opened } = dependencies
  return async (request, context) => {
    const location = await locations.resolve(principalOf(context), request.directory)
    const { id, agents } = await opened.open(location).generation(request.generation)
    return { location: locationToProto(location), agents: agents.agents.map(agentToProto), generation: id }
  }
}
