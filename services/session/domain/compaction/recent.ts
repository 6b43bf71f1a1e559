import type { Message } from '#gen/portico/session/v1/message_pb.js'
import { BYTES_OF_TOKEN } from '#shared/text-tokens.ts'
import { isInput } from '../message.ts'
import { beginningOf, bytesIn, turnText } from './turn-text.ts'

/** Most bytes that stay word for word. */
const MOST_RECENT = 24_000
/** And at most this share of a conversation and of the model's context. */
const SHARE = 1 / 4

export interface Room {
  /** Of the conversation. */
  readonly bytes: number
  /** Tokens of the model that goes on with it; undefined: nobody knows. */
  readonly contextLength: number | undefined
}

/**
 * The newest turns that are kept, in order, as many as there is room for; the last input has priority. A call is kept
 * together with its result; of long results, only the beginning is kept.
 */
export function recentOf(turns: readonly Message[], { bytes, contextLength = Infinity }: Room): string {
  const input = turns.findLastIndex(isInput)
  let room = Math.min(MOST_RECENT, Math.floor(Math.min(bytes, contextLength * BYTES_OF_TOKEN) * SHARE))
  const line = input < 0 ? undefined : turnText(turns[input] as Message)
  const last = line && beginningOf(line.text, Math.floor(room / 2))
  room -= bytesIn(last ?? '')
  const kept: string[] = []
  let at = turns.length - 1
  for (; at >= 0; at--) {
    const turn = turnText(turns[at] as Message)
    if (at === input && last !== undefined) kept.push(last)
    else if (turn !== undefined) {
      const text = bytesIn(turn.text) <= room ? turn.text : turn.short
      if (bytesIn(text) > room) break
      kept.push(text)
      room -= bytesIn(text)
    }
  }
  if (last !== undefined && at > input) kept.push(last)
  return kept.reverse().join(BETWEEN)
}

const BETWEEN = '\n\n'
/** The beginning of a turn other than the first. */
const NEXT_TURN = /\n\n(?=(?:user|assistant|instructions|skill): )/g

/** The newest half of what was kept: whole turns; '': there is no whole one in it. */
export function newestHalf(recent: string): string {
  NEXT_TURN.lastIndex = Math.floor(recent.length / 2)
  const next = NEXT_TURN.exec(recent)
  return next === null ? '' : recent.slice(next.index + BETWEEN.length)
}
