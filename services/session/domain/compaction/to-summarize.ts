import type { Compaction, Message } from '#gen/portico/session/v1/message_pb.js'
import { isInput } from '../message.ts'
import type { Covered } from './coverage.ts'
import { beginningOf, bytesIn, type TurnText, turnText } from './turn-text.ts'

/**
 * The text to summarize, of at most this many bytes; '': there is nothing. If it is longer, the oldest tool results are
 * left out first, then the oldest turns, but never the previous summary or the very first input.
 */
export function toSummarize({ summary, turns }: Covered, most: number): string {
  const first = summary === undefined ? turns.find(isInput) : undefined
  const texts = turns.flatMap((message) => (message === first ? [] : (turnText(message) ?? [])))
  const head = summary === undefined ? first && turnText(first)?.text : summed(summary)
  if (head === undefined) return fitting(texts, most).join('\n\n')
  const others = texts.reduce((sum, { text }) => sum + bytesIn(text) + 2, 0)
  const begun = beginningOf(head, Math.max(Math.floor(most / 2), most - others))
  return [begun, ...fitting(texts, most - bytesIn(begun))].join('\n\n')
}

/** The turns that are not kept word for word; all of them, if each is. */
export function notKept(turns: readonly Message[], recent: string): readonly Message[] {
  const others = turns.filter((message) => !recent.includes(turnText(message)?.text ?? ''))
  return others.length === 0 ? turns : others
}

function summed({ summary = '', recent = '' }: Compaction): string {
  return `summary of what was before: ${summary}\n\n${recent}`
}

function fitting(turns: readonly TurnText[], most: number): string[] {
  let over = turns.reduce((sum, { text }) => sum + bytesIn(text) + 2, 0) - most
  const texts: string[] = []
  for (const { text, short } of turns) {
    texts.push(over > 0 ? short : text)
    if (over > 0) over -= bytesIn(text) - bytesIn(short)
  }
  let left = 0
  while (over > 0 && left < texts.length - 1) over -= bytesIn(texts[left++] ?? '') + 2
  const rest = texts.slice(left)
  if (left === 0) return over > 0 ? rest.map((text) => beginningOf(text, bytesIn(text) - over)) : rest
  const note = left === 1 ? '(1 older turn is left out.)' : `(${left} older turns are left out.)`
  return [note, ...rest.map((text) => (over > 0 ? beginningOf(text, most) : text))]
}
