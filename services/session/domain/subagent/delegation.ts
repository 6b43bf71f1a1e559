import { type AssistantTool, AssistantTool_State as State } from '#gen/portico/session/v1/message_pb.js'
import { TASK } from './task-tool.ts'

/** The session that works for a tool call, and its agent, as the call's metadata names them. */
export interface Delegation {
  readonly sessionID: string
  readonly agent: string
}

/** The delegation of a call that runs; undefined: it has none, or none yet. */
export function delegationOf({ name, state, metadata = {} }: AssistantTool): Delegation | undefined {
  const { sessionID, agent } = metadata
  if (name !== TASK || state !== State.RUNNING) return undefined
  return typeof sessionID === 'string' && typeof agent === 'string' ? { sessionID, agent } : undefined
}

/** Whether a call is delegated: it continues whatever happens to its owner. */
export function isDelegated(call: AssistantTool): boolean {
  return delegationOf(call) !== undefined
}
