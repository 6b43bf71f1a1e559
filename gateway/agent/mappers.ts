import { type Agent, Agent_Mode } from '#gen/portico/catalog/v1/catalog_pb.js'
import { enumTable } from '#shared/rpc/enum-table.ts'
import type { JsonOf } from '../kinds.ts'
import { fromModelRef } from '../records/model.ts'
import { fromRuleset } from '../records/ruleset.ts'
import type { agentInfo } from './schemas.ts'

const modes = enumTable({ primary: Agent_Mode.PRIMARY, subagent: Agent_Mode.SUBAGENT, all: Agent_Mode.ALL })

export function fromAgent(agent: Agent | undefined): JsonOf<typeof agentInfo> {
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
