import { z } from 'zod'
import { operation } from '../operation.ts'
import { nameParameter } from '../records/ids.ts'
import { fromLocationRef, locationHeaders, locationQuery, locationRef, toDirectory } from '../records/location.ts'
import { fromAgent } from './mappers.ts'
import { agentInfo } from './schemas.ts'

const location = { query: locationQuery, headers: locationHeaders } as const

export const listAgents = operation({
  id: 'agent.list',
  method: 'get',
  path: '/api/agent',
  summary: 'Agents of a location, the default one first',
  ...location,
  answer: z.strictObject({ location: locationRef, data: z.array(agentInfo) }),
  handle: ({ catalog }, { query, headers, call }) =>
    catalog.listAgents({ directory: toDirectory(query, headers) }, call.options()),
  present: ({ location, agents }) => ({ location: fromLocationRef(location), data: agents.map(fromAgent) }),
})

export const getAgent = operation({
  id: 'agent.get',
  method: 'get',
  path: '/api/agent/{agentID}',
  summary: 'One agent of a location',
  params: z.object({ agentID: nameParameter('Agent') }),
  ...location,
  answer: z.strictObject({ location: locationRef, data: agentInfo }),
  handle: ({ catalog }, { params, query, headers, call }) =>
    catalog.getAgent({ directory: toDirectory(query, headers), agentId: params.agentID }, call.options()),
  present: ({ location, agent }) => ({ location: fromLocationRef(location), data: fromAgent(agent) }),
})
