import type { DurableEventData } from './event.ts'
import type { AssistantMessage } from './message.ts'

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
  const ordinal = parts.findIndex((part, n) => {
    switch (data.type) {
      case 'part-ended':
        if (n !== data.part.ordinal || (part.type === 'reasoning' && part.state !== data.state)) return false
        return (part.type === 'tool' ? part.rawInput : part.text) === data.text
      case 'tool-called':
        return part.type === 'tool' && part.callId === data.callId && part.input === data.input
      case 'tool-succeeded':
      case 'tool-failed': {
        const isCall = part.type === 'tool' && part.callId === data.callId
        return isCall && part.content === data.content && part.metadata === data.metadata
      }
      default:
        return false
    }
  })
  return ordinal < 0 ? undefined : { attempt, ordinal }
}
