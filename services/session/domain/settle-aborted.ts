import type { StructuredError } from '#gen/portico/session/v1/message_pb.js'
import { abortCompaction } from './compaction/compaction.ts'
import { type DurableEventData, type Usage, withTotals } from './event.ts'
import { partBehind } from './event-part.ts'
import { STEP_ABORTED, TOOL_NOT_BEGUN } from './generation/step-errors.ts'
import type { AssistantMessage, AssistantPart, CompactionMessage, ToolPart } from './message.ts'
import type { KnownRequest } from './permission/permission.ts'
import { closeRequest } from './permission/permission-answers.ts'
import { refusalOf } from './permission/refusals.ts'
import type { Revision } from './revision.ts'
import { structuredError } from './structured-error.ts'
import { type Delegation, delegationOf, isDelegated } from './subagent/delegation.ts'

/** The error of a tool call that was cut off. */
export const TOOL_ABORTED = structuredError('aborted', 'The tool call was cut off; what it has done is unknown')

/** The error of a called tool call that is known not to have begun; undefined: it may have. */
export type NotBegun = (part: ToolPart) => StructuredError | undefined

/** The unfinished records of a former owner. */
export interface Unfinished {
  /** Steps that are not completed, and compactions that run. */
  readonly unfinished: readonly (AssistantMessage | CompactionMessage)[]
  /** Requests without an answer, and those of the unfinished steps that have one. */
  readonly requests: readonly KnownRequest[]
}

/** How to settle. */
export interface Settling {
  /** Delegated calls and their steps stay as they are, and the new owner continues to wait for them. */
  readonly keep?: boolean
  /** It is recorded of each call whether it has begun. */
  readonly exact?: boolean
}

/** The steps of a former owner that continue, and the child sessions that nobody waits for any more. */
export interface Settlement {
  readonly kept: readonly AssistantMessage[]
  readonly abandoned: readonly Delegation[]
}

/** Settles what an owner left behind: unfinished steps with their tool calls, compactions, and waiting requests. */
export function settleAborted(
  revision: Revision,
  { unfinished, requests }: Unfinished,
  { keep = false, exact = false }: Settling = {},
): Settlement {
  const kept: AssistantMessage[] = []
  for (const step of unfinished) {
    if (step.type === 'compaction') {
      abortCompaction(revision, step)
      continue
    }
    const notBegun = notBegunOf(
      requests.filter(({ request }) => request.messageId === step.id),
      exact,
    )
    const stays = keep && step.parts.some(isDelegated)
    const { message, events } = stays
      ? settleOthers(step, revision.now, notBegun)
      : cutOff(step, STEP_ABORTED, revision.now, notBegun)
    revision.update(step, message)
    if (stays) kept.push(message)
    else revision.count(message)
    // The answer was complete, so its usage, due at the end of the step, is added now.
    if (!stays && step.costNanos !== undefined && step.tokens !== undefined) {
      revision.addUsage(step.costNanos, step.tokens)
    }
    for (const data of events) revision.event(withTotals(data, revision.state), partBehind(message, data))
  }
  for (const { request, answer } of requests) {
    if (answer === undefined) closeRequest(revision, request.id, 'reject')
  }
  const parts = keep
    ? []
    : unfinished.flatMap((step) => (step.type === 'assistant' ? step.parts : [])).filter(isDelegated)
  return { kept, abandoned: parts.flatMap((part) => delegationOf(part) ?? []) }
}

/**
 * The start of a call is recorded late, but if permission was requested for it, before it begins. An answer counts even
 * if the run that requested permission has not seen it.
 */
function notBegunOf(requests: readonly KnownRequest[], exact: boolean): NotBegun {
  // Earlier versions recorded the start of all calls late.
  const known = requests.filter(({ request, answer }) => answer === undefined || request.fence !== undefined)
  const byCall = Map.groupBy(known, ({ request }) => request.callId)
  return (part) => {
    const own = byCall.get(part.callId) ?? (exact ? [] : undefined)
    if (own === undefined || part.timeRan !== undefined || isDelegated(part)) return undefined
    const [refusal] = own.flatMap(({ answer }) => (answer && refusalOf(answer)) ?? [])
    return refusal ?? TOOL_NOT_BEGUN
  }
}

/** Aborts the calls of a step that are not delegated. */
function settleOthers(step: AssistantMessage, now: number, notBegun: NotBegun) {
  const others = { ...step, parts: step.parts.filter((part) => !isDelegated(part)) }
  const parts = step.parts.map((part) => (isDelegated(part) ? part : settledPart(part, now, notBegun)))
  return { message: { ...step, parts }, events: toolEvents(others, notBegun) }
}

/** Ends a step early with an error: its unfinished tool calls become `aborted`, unless `notBegun` says otherwise. */
export function cutOff(
  step: AssistantMessage,
  error: StructuredError,
  now: number,
  notBegun: NotBegun,
): { readonly message: AssistantMessage; readonly events: readonly DurableEventData[] } {
  const parts = step.parts.map((part) => settledPart(part, now, notBegun))
  const finish = step.finish ?? 'error'
  return {
    message: { ...step, parts, finish, error, retry: undefined, timeCompleted: now },
    events: [
      ...toolEvents(step, notBegun),
      { type: 'step-failed', messageId: step.id, error, finish, ...usageOf(step) },
    ],
  }
}

function usageOf({ costNanos, tokens }: AssistantMessage): { readonly usage?: Usage } {
  return costNanos === undefined || tokens === undefined ? {} : { usage: { costNanos, tokens } }
}

function settledPart(part: AssistantPart, now: number, notBegun: NotBegun): AssistantPart {
  if (part.type === 'reasoning') return { ...part, timeCompleted: part.timeCompleted ?? now }
  if (!isUnfinishedTool(part)) return part
  return { ...part, state: 'error', error: errorOf(part, notBegun), timeCompleted: now }
}

function toolEvents(message: AssistantMessage, notBegun: NotBegun): DurableEventData[] {
  return message.parts.filter(isUnfinishedTool).map((part) => {
    const { callId, content, metadata } = part
    const error = errorOf(part, notBegun)
    return { type: 'tool-failed', messageId: message.id, callId, error, content, metadata }
  })
}

/** A call is made only once the answer is complete. */
function errorOf(part: ToolPart, notBegun: NotBegun): StructuredError {
  return part.state === 'streaming' ? TOOL_NOT_BEGUN : (notBegun(part) ?? TOOL_ABORTED)
}

function isUnfinishedTool(part: AssistantPart): part is ToolPart {
  return part.type === 'tool' && (part.state === 'streaming' || part.state === 'running')
}
