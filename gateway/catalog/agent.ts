import { z } from 'zod'
import { type Agent, Agent_Mode } from '#gen/portico/catalog/v1/catalog_pb.js'
import { enumTable } from '#shared/rpc/enum-table.ts'
import type { JsonOf } from '../kinds.ts'
import { operation } from '../operation.ts'
import { nameParameter } from '../records/ids.ts'
import { fromLocationRef, locationHeaders, locationQuery, locationRef, toDirectory } from '../records/location.ts'
import { fromModelRef, modelRef } from '../records/model.ts'
import { fromRuleset, ruleset } from '../records/ruleset.ts'
import { freeObject } from '../shape.ts'

/** `Agent.Info`. */
const agentInfo = z
  .strictObject({
    id: z.string(),
    name: z.string(),
    model: modelRef.optional(),
    request: z.strictObject({
      settings: freeObject('Settings from the agent’s files, interpreted by the provider.'),
      headers: z.record(z.string(), z.string()),
      body: freeObject('Members that are passed to the provider.'),
    }),
    system: z.string().optional(),
    description: z.string().optional(),
    mode: z.enum(['subagent', 'primary', 'all']),
    hidden: z.boolean(),
    color: z.string().optional(),
    steps: z.int().min(1).optional(),
    permissions: ruleset,
  })
  .meta({ id: 'Agent.Info' })

const modes = enumTable({ primary: Agent_Mode.PRIMARY, subagent: Agent_Mode.SUBAGENT, all: Agent_Mode.ALL })

function fromAgent(agent: Agent | undefined): JsonOf<typeof agentInfo> {
  if (agent === undefined) throw new Error('The catalog returned no agent')
  return {
    id: agent.agentId,
    name: agent.name,
    model: fromModelRef(agent.model),
    request: {
      settings: agent.requestSettings ?? {},
      headers: agent.requestHeaders,
      body: agent.requestBody ?? {},
    },
    system: agent.system,
    description: agent.description,
    mode: modes.fromProto(agent.mode) ?? 'primary',
    hidden: agent.hidden,
    color: agent.color,
    steps: agent.steps,
    permissions: fromRuleset(agent.permissions),
  }
}

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
