import { isInput, isSummary, type Message } from '../message.ts'
import { beginningOf, turnText } from './turn-text.ts'

/** Most characters that stay word for word. */
const MOST_RECENT = 24_000
/** And at most that share of a conversation. */
const SHARE = 1 / 4

/**
 * What is kept of the newest turns of a conversation of so many bytes, in order: as many as there is room for, the last input before
 * all others. A call stays together with its result; of results that are too long the beginnings are kept.
 */
export function recentOf(conversation: readonly Message[], bytes: number): string {
  const from = conversation.findLastIndex(isSummary) + 1
  const input = conversation.findLastIndex(isInput)
  let room = Math.min(MOST_RECENT, Math.floor(bytes * SHARE))
  const said = input < from ? undefined : turnText(conversation[input] as Message)
  const last = said && beginningOf(said.text, Math.floor(room / 2))
  room -= last?.length ?? 0
  const kept: string[] = []
  let at = conversation.length - 1
  for (; at >= from; at--) {
    const turn = turnText(conversation[at] as Message)
    if (at === input && last !== undefined) kept.push(last)
    else if (turn !== undefined) {
      const text = turn.text.length <= room ? turn.text : turn.short
      if (text.length > room) break
      kept.push(text)
      room -= text.length
    }
  }
  if (last !== undefined && at > input) kept.push(last)
  return kept.reverse().join(BETWEEN)
}

/** Between two turns. */
const BETWEEN = '\n\n'
