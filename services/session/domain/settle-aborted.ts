import { type DurableEventData, type Usage, withTotals } from './event.ts'
import { partBehind } from './event-part.ts'
import type { AssistantMessage, AssistantPart, StructuredError } from './message.ts'
import type { PermissionRequest } from './permission/permission.ts'
import { closeRequest } from './permission/permission-answers.ts'
import type { Revision } from './revision.ts'

/** The error of a step that was cut off. */
export const STEP_ABORTED: StructuredError = { type: 'aborted', message: 'The step was cut off' }
/** The error of a tool call that was cut off. */
export const TOOL_ABORTED: StructuredError = {
  type: 'aborted',
  message: 'The tool call was cut off; what it has done is unknown',
}

/** Settles what an owner that is gone left behind: unfinished steps with their tool calls, and waiting requests. */
export function settleAborted(
  revision: Revision,
  unfinished: readonly AssistantMessage[],
  waiting: readonly PermissionRequest[],
): void {
  for (const step of unfinished) {
    const { message, events } = cutOff(step, STEP_ABORTED, revision.now)
    revision.update(step, message)
    revision.count(message)
    // The answer was complete, and what it used was to be added when the step ends.
    if (step.costNanos !== undefined && step.tokens !== undefined) revision.addUsage(step.costNanos, step.tokens)
    for (const data of events) revision.event(withTotals(data, revision.state), partBehind(message, data))
  }
  for (const { id } of waiting) closeRequest(revision, id, 'reject')
}

/** A step that ends with an error before its time: its tool calls that have not ended become `aborted`. */
export function cutOff(
  step: AssistantMessage,
  error: StructuredError,
  now: number,
): { readonly message: AssistantMessage; readonly events: readonly DurableEventData[] } {
  const parts = step.parts.map((part) => settledPart(part, now))
  const finish = step.finish ?? 'error'
  return {
    message: { ...step, parts, finish, error, retry: undefined, timeCompleted: now },
    events: [...toolEvents(step), { type: 'step-failed', messageId: step.id, error, finish, ...usageOf(step) }],
  }
}

function usageOf({ costNanos, tokens }: AssistantMessage): { readonly usage?: Usage } {
  return costNanos === undefined || tokens === undefined ? {} : { usage: { costNanos, tokens } }
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
