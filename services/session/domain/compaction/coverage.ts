import type { Compaction, Message } from '#gen/portico/session/v1/message_pb.js'
import { Outcome } from '#gen/portico/session/v1/session_pb.js'
import { isInput, isSummary } from '../message.ts'
import { cameToNothing } from '../next-action.ts'
import { turnText } from './turn-text.ts'

/**
 * The messages of a conversation that a model is shown: the last summary and everything after it. Between them comes
 * the input that was unanswered when the summary was made, complete with its files.
 */
export function shownOf(conversation: readonly Message[]): readonly Message[] {
  const at = conversation.findLastIndex(isSummary)
  if (at < 0) return conversation
  const summary = conversation[at] as Message
  const after = conversation.slice(at + 1)
  const open = openInput(conversation.slice(0, at), isInRun(summary))
  return [summary, ...(open === undefined ? after : [open, ...after])]
}

/** The messages that a compaction summarizes. */
export interface Covered {
  /** The summary of everything before the turns. */
  readonly summary: Compaction | undefined
  readonly turns: readonly Message[]
}

/**
 * The messages that a compaction summarizes: those that a model is shown, without the unanswered input and steps
 * without a result. `goesOn`: a run needs the compaction to continue.
 */
export function coveredBy(conversation: readonly Message[], goesOn: boolean): Covered {
  const [first, ...others] = shownOf(conversation)
  const summary = first !== undefined && isSummary(first) ? first.kind.value : undefined
  const open = openInput(conversation, goesOn)
  const turns = summary === undefined && first !== undefined ? [first, ...others] : others
  return { summary, turns: turns.filter((message) => message !== open && saysAnything(message)) }
}

function saysAnything(message: Message): boolean {
  return turnText(message) !== undefined || hasResult(message)
}

function hasResult({ kind }: Message): boolean {
  return kind.case === 'assistant' && !cameToNothing(kind.value)
}

// No client requested it.
function isInRun({ kind }: Message): boolean {
  return kind.case === 'compaction' && !kind.value.manual
}

/**
 * The last input, if it is unanswered and its run continues, or was interrupted and may be resumed; it is not
 * summarized.
 */
export function openInput(conversation: readonly Message[], goesOn: boolean): Message | undefined {
  let ended = !goesOn
  for (let at = conversation.length - 1; at >= 0; at--) {
    const message = conversation[at] as Message
    if (isInput(message)) return message
    const { kind } = message
    if (kind.case === 'idle' && ended && kind.value.outcome !== Outcome.INTERRUPTED) return undefined
    if (hasResult(message)) return undefined
    // A step without a result: the run continues, or another run continued it.
    if (kind.case === 'assistant') ended = false
    if (isSummary(message)) ended = true
  }
  return undefined
}
