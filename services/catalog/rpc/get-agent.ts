import type { ServiceImpl } from '@connectrpc/connect'
import type { CatalogService } from '#gen/portico/catalog/v1/catalog_service_pb.js'
import { Rejection } from '#shared/rejection.ts'
import { principalOf } from '#shared/rpc/call-context.ts'
import { skillList } from '../domain/skill.ts'
import type { Locations } from '../ports/locations.ts'
import type { OpenLocations } from '../run/open-locations.ts'
import { agentToProto, locationToProto } from './convert.ts'

/** Gets one agent, or the default one when no id is given. */
export function getAgent(dependencies: {
  readonly locations: Locations
  readonly opened: OpenLocations
}): ServiceImpl<typeof CatalogService>['getAgent'] {
  const { locations, opened } = dependencies
  return async (request, context) => {
    const location = await locations.resolve(principalOf(context), request.directory)
    const open = opened.open(location)
    using _ = open.use()
    const generation = await open.generation(request.generation, request.forStep)
    const { agents, defaultId } = generation.agents
    const id = request.agentId ?? defaultId
    const agent = agents.find((candidate) => candidate.id === id)
    if (agent === undefined) throw new Rejection('AGENT_NOT_FOUND', { agent_id: id ?? '' })
    const list = skillList(generation.skills, agent.permissions)
    const { plugins } = generation
    const { sessionId } = request
    const hasHook = sessionId !== undefined && plugins.hooks.has('instructions')
    const ofPlugins = hasHook ? await plugins.instructions({ sessionId, agent: agent.id }, context.signal) : []
    return {
      location: locationToProto(location),
      agent: agentToProto(agent),
      generation: generation.id,
      instructions: [...generation.instructions, ...(list === undefined ? [] : [list]), ...ofPlugins],
    }
  }
}
