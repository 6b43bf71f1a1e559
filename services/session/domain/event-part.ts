import type { AssistantMessage } from '#gen/portico/session/v1/message_pb.js'
import type { DurableInit } from './event.ts'
import { saidIn } from './generation/draft-part.ts'

/** A part of a step, of one of its attempts. */
export interface PartPlace {
  readonly attempt: number
  readonly ordinal: number
}

/**
 * The part that contains the text of an event, so that the event need not repeat it; undefined if none does. That text
 * does not change any more, and the parts of failed attempts are kept.
 */
export function partBehind({ attempt, parts }: AssistantMessage, event: DurableInit): PartPlace | undefined {
  const ordinal = parts.findIndex((whole, n) => {
    const { part } = whole
    const call = part.case === 'tool' ? part.value : undefined
    switch (event.case) {
      case 'partEnded': {
        const { part: ref, text, state } = event.value
        if (n !== ref?.ordinal || (part.case === 'reasoning' && part.value.state !== state)) return false
        return saidIn(whole) === text
      }
      case 'toolCalled':
        return call?.callId === event.value.callId && call?.input === event.value.input
      case 'toolSucceeded':
      case 'toolFailed': {
        const { callId, content, metadata } = event.value
        return call?.callId === callId && call?.content === content && call?.metadata === metadata
      }
      default:
        return false
    }
  })
  return ordinal < 0 ? undefined : { attempt, ordinal }
}
