import type { ServiceImpl } from '@connectrpc/connect'
import type { CatalogService } from '#gen/portico/catalog/v1/catalog_service_pb.js'
import { Rejection } from '#shared/rejection.ts'
import { principalOf } from '#shared/rpc/call-context.ts'
import type { Agents } from '../ports/agents.ts'
import type { Locations } from '../ports/locations.ts'
import { toAgent, toLocation } from './convert.ts'

/** Gets one agent, or the default one when no id is given. */
export function getAgent(dependencies: {
  readonly locations: Locations
  readonly agents: Agents
}): ServiceImpl<typeof CatalogService>['getAgent'] {
  return async (request, context) => {
    const location = await dependencies.locations.resolve(principalOf(context), request.directory)
    const { agents, defaultId } = await dependencies.agents.list(location)
    const id = request.agentId === '' ? defaultId : request.agentId
    const agent = agents.find((candidate) => candidate.id === id)
    if (agent === undefined) throw new Rejection('AGENT_NOT_FOUND', { agent_id: request.agentId })
    return { location: toLocation(location), agent: toAgent(agent) }
  }
}
