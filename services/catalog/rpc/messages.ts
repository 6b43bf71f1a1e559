import type { MessageInitShape } from '@bufbuild/protobuf'
import {
  type AgentSchema,
  type LocationSchema,
  Agent_Mode as Mode,
  PermissionRule_Effect as RuleEffect,
} from '#gen/portico/catalog/v1/catalog_pb.js'
import type { Agent } from '../domain/agent.ts'
import type { Location } from '../domain/location.ts'

const MODES = { primary: Mode.PRIMARY, subagent: Mode.SUBAGENT, all: Mode.ALL }
const EFFECTS = { allow: RuleEffect.ALLOW, deny: RuleEffect.DENY, ask: RuleEffect.ASK }

/** A location as a message. */
export function toLocation(location: Location): MessageInitShape<typeof LocationSchema> {
  const { id, directory, canonicalDirectory } = location.project
  return {
    directory: location.directory,
    project: { projectId: id, directory, canonicalDirectory },
    subpath: location.subpath,
  }
}

/** An agent as a message. */
export function toAgent(agent: Agent): MessageInitShape<typeof AgentSchema> {
  const { id, mode, permissions, request, model, ...rest } = agent
  return {
    ...rest,
    agentId: id,
    mode: MODES[mode],
    permissions: permissions.map((rule) => ({ ...rule, effect: EFFECTS[rule.effect] })),
    ...(model !== undefined && { model }),
    requestHeaders: request.headers,
    requestBody: request.body,
    requestSettings: request.settings,
  }
}
