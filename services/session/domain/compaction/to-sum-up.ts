import type { CompactionMessage } from '../message.ts'
import type { Covered } from './shown.ts'
import { beginningOf, bytesIn, type TurnText, turnText } from './turn-text.ts'

/**
 * What a compaction stands for as text of at most so many bytes, for whoever sums it up; '': there is nothing. Where it is longer, first the
 * oldest results of tools are left out, then the oldest turns, but never what summed up the turns before.
 */
export function toSumUp({ summary, turns }: Covered, most: number): string {
  const before = summary === undefined ? [] : [beginningOf(summed(summary), Math.floor(most / 2))]
  const texts = turns.flatMap((message) => turnText(message) ?? [])
  return [...before, ...fitting(texts, most - bytesIn(before.join('')))].join('\n\n')
}

function summed({ summary = '', recent = '' }: CompactionMessage): string {
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
  return [`(${left} older turns are left out.)`, ...rest.map((text) => (over > 0 ? beginningOf(text, most) : text))]
}
