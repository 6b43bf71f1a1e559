import { type CompactionMessage, isInput, isSummary, type Message } from '../message.ts'
import { cameToNothing } from '../next-action.ts'
import { turnText } from './turn-text.ts'

/**
 * What a model is shown of a conversation: the last summary and what follows it. Between them stands the input that was open when the
 * summary was made, whole and with its files.
 */
export function shownOf(conversation: readonly Message[]): readonly Message[] {
  const at = conversation.findLastIndex(isSummary)
  if (at < 0) return conversation
  const summary = conversation[at] as Message
  const after = conversation.slice(at + 1)
  const open = openInput(conversation.slice(0, at), isInRun(summary))
  return [summary, ...(open === undefined ? after : [open, ...after])]
}

/** What a compaction is to stand for. */
export interface Covered {
  /** What stands for all before the turns. */
  readonly summary: CompactionMessage | undefined
  readonly turns: readonly Message[]
}

/**
 * What a compaction of a conversation stands for: what a model is shown of it, but the open input, and steps that came to nothing.
 * `goesOn`: a run needs it, to go on.
 */
export function coveredBy(conversation: readonly Message[], goesOn: boolean): Covered {
  const [first, ...others] = shownOf(conversation)
  const summary = first !== undefined && isSummary(first) ? first : undefined
  const open = openInput(conversation, goesOn)
  const turns = summary === undefined && first !== undefined ? [first, ...others] : others
  return { summary, turns: turns.filter((message) => message !== open && saysAnything(message)) }
}

function saysAnything(message: Message): boolean {
  return turnText(message) !== undefined || (message.type === 'assistant' && !cameToNothing(message))
}

// No client requested it.
function isInRun(message: Message): boolean {
  return message.type === 'compaction' && !message.manual
}

/**
 * The last input, where nothing has answered it and its run goes on, or was interrupted and may be resumed: no summary stands for it.
 */
export function openInput(conversation: readonly Message[], goesOn: boolean): Message | undefined {
  let ended = !goesOn
  for (let at = conversation.length - 1; at >= 0; at--) {
    const message = conversation[at] as Message
    if (isInput(message)) return message
    if (message.type === 'idle' && ended && message.outcome !== 'interrupted') return undefined
    if (message.type === 'assistant' && !cameToNothing(message)) return undefined
    // A step that came to nothing: the run goes on, or another one went on with what an ended run had left.
    if (message.type === 'assistant') ended = false
    if (isSummary(message)) ended = true
  }
  return undefined
}
