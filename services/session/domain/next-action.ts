import type { AssistantMessage, Message, StructuredError } from '#gen/portico/session/v1/message_pb.js'
import { Outcome } from '#gen/portico/session/v1/session_pb.js'
import { CONTEXT_OVERFLOW, STEP_ABORTED } from './generation/step-errors.ts'
import { callsOf, isInput, isSummary } from './message.ts'

/** Error of a call that was refused without a message: the run ends. */
export const REJECTED = 'permission.rejected'
/** Error of a call that was refused with a message for the model: the run continues. */
export const CORRECTED = 'permission.corrected'

/** What a run does next: another step, a compaction because the conversation did not fit into the model, or its end. */
export type NextAction =
  | { readonly type: 'step' }
  | { readonly type: 'compact' }
  | { readonly type: 'end'; readonly outcome: Outcome; readonly error: StructuredError | undefined }

const STEP: NextAction = { type: 'step' }
const COMPACT: NextAction = { type: 'compact' }

/**
 * Decides from the conversation alone how a run goes on, so that whoever takes it over decides the same: a step follows
 * an input, a step that was cut off, and tool calls whose results the model has to see. A call that was rejected
 * without feedback ends the run as if the user had interrupted it, also if its step was cut off; a step that failed
 * ends it as failed, unless the conversation was too long for its model: then that is summarized, and the step is done
 * again. A run that begins with none of these continues what an ended run has left.
 */
export function nextAction(conversation: readonly Message[]): NextAction {
  const last = lastTurn(conversation)
  if (last === undefined || conversation.findLast(isTurnOrEnd) !== last) {
    return isUnfinished(conversation) && !isAlone(conversation) ? STEP : end(Outcome.SUCCEEDED)
  }
  if (hasOverflowed(conversation)) return COMPACT
  const { kind } = last
  if (kind.case !== 'assistant' || kind.value.error?.type === CONTEXT_OVERFLOW) return STEP
  const { error, parts } = kind.value
  if (error !== undefined && error.type !== STEP_ABORTED.type) return end(Outcome.FAILED, error)
  const calls = callsOf(parts)
  if (calls.some(({ error }) => error?.type === REJECTED)) return end(Outcome.INTERRUPTED)
  return error === undefined && calls.length === 0 ? end(Outcome.SUCCEEDED) : STEP
}

/** Whether the last input of a conversation is not answered to the end, or what answered it has failed. */
export function isUnfinished(conversation: readonly Message[]): boolean {
  const last = lastTurn(conversation)?.kind
  if (last?.case !== 'assistant') return last !== undefined
  return last.value.error !== undefined || callsOf(last.value.parts).length > 0
}

/** Whether the run began with only a compaction. */
function isAlone(conversation: readonly Message[]): boolean {
  const begun = conversation.slice(conversation.findLastIndex(isTurnOrEnd) + 1)
  return begun.some(({ kind }) => kind.case === 'compaction' && kind.value.alone)
}

/** Whether the last step of the run was too long for its model, and nothing was summarized since. */
function hasOverflowed(conversation: readonly Message[]): boolean {
  const step = conversation.findLast(
    (message) => message.kind.case === 'assistant' || message.kind.case === 'idle' || isSummary(message),
  )?.kind
  return step?.case === 'assistant' && step.value.error?.type === CONTEXT_OVERFLOW
}

/**
 * Whether a step has no result: it was cut off, or failed, before any of its tool calls began. At the end of a
 * conversation, such a step is ignored and repeated.
 */
export function cameToNothing({ error, streamTime, parts }: AssistantMessage): boolean {
  return error !== undefined && (streamTime === undefined || callsOf(parts).length === 0)
}

/** How many steps the conversation has since the last input, without those that were cut off. */
export function stepsSinceInput(conversation: readonly Message[]): number {
  const input = conversation.findLastIndex(isInput)
  const summary = conversation.findLast(isSummary)
  // Only the last turn before a summary is known.
  const last = summary === undefined ? input : Math.max(input, conversation.indexOf(summary))
  const steps = conversation.slice(last + 1).filter(({ kind }) => kind.case === 'assistant' && !isCutOff(kind.value))
  return steps.length + (last > input ? (summary?.kind.value.stepsBefore ?? 0) : 0)
}

/**
 * Whether a step was cut off, or too long for its model, before any of its tool calls began; such a step is ignored and
 * repeated.
 */
function isCutOff({ error, streamTime }: AssistantMessage): boolean {
  return (error?.type === STEP_ABORTED.type || error?.type === CONTEXT_OVERFLOW) && streamTime === undefined
}

function lastTurn(conversation: readonly Message[]): Message | undefined {
  return conversation.findLast((message) => isInput(message) || message.kind.case === 'assistant')
}

function isTurnOrEnd(message: Message): boolean {
  return isInput(message) || message.kind.case === 'assistant' || message.kind.case === 'idle'
}

function end(outcome: Outcome, error?: StructuredError): NextAction {
  return { type: 'end', outcome, error }
}
