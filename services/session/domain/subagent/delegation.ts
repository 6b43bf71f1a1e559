import type { AssistantPart, ToolPart } from '../message.ts'
import { TASK } from './task-tool.ts'

/** The session that works for a tool call, and its agent, as the call's metadata names them. */
export interface Delegation {
  readonly sessionID: string
  readonly agent: string
}

/** The delegation of a call that runs; undefined: it has none, or none yet. */
export function delegationOf({ name, state, metadata = {} }: ToolPart): Delegation | undefined {
  const { sessionID, agent } = metadata
  if (name !== TASK || state !== 'running') return undefined
  return typeof sessionID === 'string' && typeof agent === 'string' ? { sessionID, agent } : undefined
}

/** Whether a part is a delegated call, which continues whatever happens to its owner. */
export function isDelegated(part: AssistantPart): part is ToolPart {
  return part.type === 'tool' && delegationOf(part) !== undefined
}
