import { callOf } from '../call.ts'
import { type Facade, nameParameter, type Route } from '../facade.ts'
import { readQuery, requestDirectory } from '../http/query.ts'
import { sendJson } from '../http/respond.ts'
import { fromLocationRef } from '../location/mappers.ts'
import { agentInfo } from '../schemas/agent.ts'

/** Agents of a location, the default one first. */
export function agentRoutes({ clients }: Facade): Route[] {
  return [
    {
      operation: 'agent.list',
      method: 'get',
      path: '/api/agent',
      async handle(request, response) {
        const directory = requestDirectory(request, readQuery(request))
        const { location, agents } = await clients.catalog.listAgents({ directory }, callOf(response).options())
        sendJson(response, 200, { location: fromLocationRef(location), data: agents.map(agentInfo) })
      },
    },
    {
      operation: 'agent.get',
      method: 'get',
      path: '/api/agent/:agentID',
      async handle(request, response) {
        const agentId = nameParameter(request, 'agentID')
        const directory = requestDirectory(request, readQuery(request))
        const { location, agent } = await clients.catalog.getAgent({ directory, agentId }, callOf(response).options())
        if (agent === undefined) throw new Error('The catalog answered without an agent')
        sendJson(response, 200, { location: fromLocationRef(location), data: agentInfo(agent) })
      },
    },
  ]
}
