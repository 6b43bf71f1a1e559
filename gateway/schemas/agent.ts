import { type Agent, Agent_Mode } from '#gen/portico/catalog/v1/catalog_pb.js'
import { modelRefJson, orAbsent, rulesetJson } from './common.ts'

const MODES = {
  [Agent_Mode.UNSPECIFIED]: 'primary',
  [Agent_Mode.PRIMARY]: 'primary',
  [Agent_Mode.SUBAGENT]: 'subagent',
  [Agent_Mode.ALL]: 'all',
} as const

/** `Agent.Info` (`contract/instance-facts.md` 1.3). */
export function agentInfo(agent: Agent) {
  return {
    id: agent.agentId,
    name: agent.name,
    model: modelRefJson(agent.model),
    request: {
      settings: agent.requestSettings ?? {},
      headers: agent.requestHeaders,
      body: agent.requestBody ?? {},
    },
    system: orAbsent(agent.system),
    description: orAbsent(agent.description),
    mode: MODES[agent.mode],
    hidden: agent.hidden,
    color: orAbsent(agent.color),
    steps: agent.steps === 0 ? undefined : agent.steps,
    permissions: rulesetJson(agent.permissions),
  }
}
