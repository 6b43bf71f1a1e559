import { isSummary, type Message } from '../message.ts'
import { beginningOf, type TurnText, turnText } from './turn-text.ts'

/**
 * A conversation as text of at most so many characters, for whoever sums it up; '': there is nothing. Where it is longer, first the
 * oldest results of tools are left out, then the oldest turns, but never what summed up the turns before.
 */
export function toSumUp(conversation: readonly Message[], most: number): string {
  const first = conversation.findLastIndex(isSummary)
  const summary = first < 0 ? '' : beginningOf(summed(conversation[first]), Math.floor(most / 2))
  const turns = conversation.slice(first + 1).flatMap((message) => turnText(message) ?? [])
  const texts = [...(summary === '' ? [] : [summary]), ...fitting(turns, most - summary.length)]
  return texts.join('\n\n')
}

function summed(message: Message | undefined): string {
  if (message?.type !== 'compaction') return ''
  const { summary = '', recent = '' } = message
  return `summary of what was before: ${summary}\n\n${recent}`
}

function fitting(turns: readonly TurnText[], most: number): string[] {
  let over = turns.reduce((sum, { text }) => sum + text.length + 2, 0) - most
  const texts: string[] = []
  for (const { text, short } of turns) {
    texts.push(over > 0 ? short : text)
    if (over > 0) over -= text.length - short.length
  }
  let left = 0
  while (over > 0 && left < texts.length - 1) over -= (texts[left++]?.length ?? 0) + 2
  const rest = texts.slice(left)
  if (left === 0) return over > 0 ? rest.map((text) => beginningOf(text, text.length - over)) : rest
  return [`(${left} older turns are left out.)`, ...rest.map((text) => (over > 0 ? beginningOf(text, most) : text))]
}
