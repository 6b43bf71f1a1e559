import type { DurableEventData } from './event.ts'
import type { AssistantMessage, AssistantPart, StructuredError } from './message.ts'
import type { PermissionRequest } from './permission.ts'
import { closeRequest } from './permission-answers.ts'
import type { Revision } from './revision.ts'

const STEP_ABORTED: StructuredError = { type: 'aborted', message: 'The step was cut off' }
const TOOL_ABORTED: StructuredError = {
  type: 'aborted',
  message: 'The tool call was cut off; what it has done is unknown',
}

/** Settles what an owner that is gone left behind: unfinished steps with their tool calls, and waiting requests. */
export function settleAborted(
  revision: Revision,
  unfinished: readonly AssistantMessage[],
  waiting: readonly PermissionRequest[],
): void {
  for (const message of unfinished) {
    for (const data of toolEvents(message)) revision.event(data)
    revision.event({ type: 'step-failed', messageId: message.id, error: STEP_ABORTED })
    revision.writes.push({ type: 'update', message: settled(message, revision.now) })
  }
  for (const { id } of waiting) closeRequest(revision, id, 'reject')
}

function settled(message: AssistantMessage, now: number): AssistantMessage {
  return {
    ...message,
    parts: message.parts.map((part) => settledPart(part, now)),
    finish: message.finish ?? 'error',
    error: STEP_ABORTED,
    retry: undefined,
    timeCompleted: now,
  }
}

function settledPart(part: AssistantPart, now: number): AssistantPart {
  if (part.type === 'reasoning') return { ...part, timeCompleted: part.timeCompleted ?? now }
  if (!isUnfinishedTool(part)) return part
  return { ...part, state: 'error', error: TOOL_ABORTED, timeCompleted: now }
}

function toolEvents(message: AssistantMessage): DurableEventData[] {
  return message.parts.filter(isUnfinishedTool).map(({ callId, content, metadata }) => {
    return { type: 'tool-failed', messageId: message.id, callId, error: TOOL_ABORTED, content, metadata }
  })
}

function isUnfinishedTool(part: AssistantPart): part is Extract<AssistantPart, { type: 'tool' }> {
  return part.type === 'tool' && (part.state === 'streaming' || part.state === 'running')
}
