import {
  type AssistantMessage,
  type AssistantPart,
  type AssistantTool,
  AssistantTool_State as State,
  type StructuredError,
} from '#gen/portico/session/v1/message_pb.js'
import { PermissionReply } from '#gen/portico/session/v1/session_pb.js'
import { abortCompaction } from './compaction/compaction.ts'
import { type DurableInit, partBehind, withTotals } from './event.ts'
import { STEP_ABORTED, TOOL_NOT_BEGUN } from './generation/step-errors.ts'
import { callsOf, isOf, type MessageOf, withChanges, withContent } from './message.ts'
import { closeRequest, type RequestEntry, refusalOf } from './permission/permission-requests.ts'
import type { Revision } from './revision.ts'
import { structuredError } from './structured-error.ts'
import { type Delegation, delegationOf, isDelegated } from './subagent/delegation.ts'

export const TOOL_ABORTED = structuredError('aborted', 'The tool call was cut off; what it has done is unknown')

/** The error of a called tool call that is known not to have begun; undefined: it may have. */
export type NotBegun = (call: AssistantTool) => StructuredError | undefined

/** The unfinished records of a former owner. */
export interface Unfinished {
  /** Steps that are not completed, and compactions that run. */
  readonly unfinished: readonly MessageOf<'assistant' | 'compaction'>[]
  /** Requests without an answer, and those of the unfinished steps that have one. */
  readonly requests: readonly RequestEntry[]
}

export interface Settling {
  /** Delegated calls and their steps stay as they are, and the new owner continues to wait for them. */
  readonly keep?: boolean
  /** It is recorded of each call whether it has begun. */
  readonly exact?: boolean
}

/** The steps of a former owner that continue, and the child sessions that nobody waits for any more. */
export interface Settlement {
  readonly kept: readonly MessageOf<'assistant'>[]
  readonly abandoned: readonly Delegation[]
}

/** Settles what an owner left behind: unfinished steps with their tool calls, compactions, and waiting requests. */
export function settleAborted(
  revision: Revision,
  { unfinished, requests }: Unfinished,
  { keep = false, exact = false }: Settling = {},
): Settlement {
  const kept: MessageOf<'assistant'>[] = []
  for (const compaction of unfinished.filter((message) => isOf(message, 'compaction'))) {
    abortCompaction(revision, compaction)
  }
  const steps = unfinished.filter((message) => isOf(message, 'assistant'))
  for (const step of steps) {
    const notBegun = notBegunOf(
      requests.filter(({ request }) => request.messageId === step.messageId),
      exact,
    )
    const { parts, costNanos, tokens } = step.kind.value
    const stays = keep && callsOf(parts).some(isDelegated)
    const { message, events } = stays
      ? settleOthers(step, revision.now, notBegun)
      : cutOff(step, STEP_ABORTED, revision.now, notBegun)
    revision.update(step, message)
    if (stays) kept.push(message)
    else revision.count(message)
    // The answer was complete, so its usage, due at the end of the step, is added now.
    if (!stays && costNanos !== undefined && tokens !== undefined) revision.addUsage(costNanos, tokens)
    const settled = message.kind.value
    for (const data of events) revision.event(withTotals(data, revision.state), partBehind(settled, data))
  }
  for (const { request, answer } of requests) {
    if (answer === undefined) closeRequest(revision, request.requestId, PermissionReply.REJECT)
  }
  const parts = keep ? [] : steps.flatMap(({ kind }) => kind.value.parts)
  return { kept, abandoned: callsOf(parts).flatMap((call) => delegationOf(call) ?? []) }
}

/**
 * The start of a call is recorded late, but if permission was requested for it, before it begins. An answer counts even
 * if the run that requested permission has not seen it.
 */
function notBegunOf(requests: readonly RequestEntry[], exact: boolean): NotBegun {
  const byCall = Map.groupBy(requests, ({ request }) => request.callId)
  return (call) => {
    const own = byCall.get(call.callId) ?? (exact ? [] : undefined)
    if (own === undefined || call.runTime !== undefined || isDelegated(call)) return undefined
    const [refusal] = own.flatMap(({ answer }) => (answer && refusalOf(answer)) ?? [])
    return refusal ?? TOOL_NOT_BEGUN
  }
}

/** Aborts the calls of a step that are not delegated. */
function settleOthers(step: MessageOf<'assistant'>, now: number, notBegun: NotBegun) {
  const isOther = ({ part }: AssistantPart): boolean => part.case !== 'tool' || !isDelegated(part.value)
  const { parts: all } = step.kind.value
  const parts = all.map((part) => (isOther(part) ? settledPart(part, now, notBegun) : part))
  const events = toolEvents(step.messageId, all.filter(isOther), notBegun)
  return { message: withChanges(step, { parts }), events }
}

/** Ends a step early with an error: its unfinished tool calls become `aborted`, unless `notBegun` says otherwise. */
export function cutOff(
  step: MessageOf<'assistant'>,
  error: StructuredError,
  now: number,
  notBegun: NotBegun,
): { readonly message: MessageOf<'assistant'>; readonly events: readonly DurableInit[] } {
  const { messageId } = step
  const { parts: all, finish = 'error' } = step.kind.value
  const parts = all.map((part) => settledPart(part, now, notBegun))
  return {
    message: withChanges(step, { parts, finish, error, retry: undefined, completeTime: now }),
    events: [
      ...toolEvents(messageId, all, notBegun),
      { case: 'stepFailed', value: { messageId, error, finish, usage: usageOf(step.kind.value) } },
    ],
  }
}

function usageOf({ costNanos, tokens }: AssistantMessage) {
  return costNanos === undefined || tokens === undefined ? undefined : { costNanos, tokens }
}

function settledPart(whole: AssistantPart, now: number, notBegun: NotBegun): AssistantPart {
  const { part } = whole
  if (part.case === 'reasoning') {
    const { completeTime = now } = part.value
    return withContent(whole, { case: 'reasoning', value: { ...part.value, completeTime } })
  }
  if (part.case !== 'tool' || !isUnfinished(part.value)) return whole
  const end = { state: State.ERROR, error: errorOf(part.value, notBegun), completeTime: now }
  return withContent(whole, { case: 'tool', value: { ...part.value, ...end } })
}

function toolEvents(messageId: string, parts: readonly AssistantPart[], notBegun: NotBegun): DurableInit[] {
  return callsOf(parts)
    .filter(isUnfinished)
    .map((call) => {
      const { callId, content, metadata } = call
      const error = errorOf(call, notBegun)
      return { case: 'toolFailed', value: { messageId, callId, error, content, metadata } }
    })
}

/** A call is made only once the answer is complete. */
function errorOf(call: AssistantTool, notBegun: NotBegun): StructuredError {
  return call.state === State.STREAMING ? TOOL_NOT_BEGUN : (notBegun(call) ?? TOOL_ABORTED)
}

function isUnfinished({ state }: AssistantTool): boolean {
  return state === State.STREAMING || state === State.RUNNING
}
