import type { AssistantMessage } from '#gen/portico/session/v1/message_pb.js'
import type { DurableEventData } from './event.ts'
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
export function partBehind({ attempt, parts }: AssistantMessage, data: DurableEventData): PartPlace | undefined {
  const ordinal = parts.findIndex((whole, n) => {
    const { part } = whole
    const call = part.case === 'tool' ? part.value : undefined
    switch (data.type) {
      case 'part-ended':
        if (n !== data.part.ordinal || (part.case === 'reasoning' && part.value.state !== data.state)) return false
        return saidIn(whole) === data.text
      case 'tool-called':
        return call?.callId === data.callId && call.input === data.input
      case 'tool-succeeded':
      case 'tool-failed':
        return call?.callId === data.callId && call.content === data.content && call.metadata === data.metadata
      default:
        return false
    }
  })
  return ordinal < 0 ? undefined : { attempt, ordinal }
}
