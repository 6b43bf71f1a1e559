import { create, type MessageInitShape } from '@bufbuild/protobuf'
import { type SessionEvent, type SessionEventSchema, SessionUsageSchema } from '#gen/portico/session/v1/event_pb.js'
import type { AssistantMessage } from '#gen/portico/session/v1/message_pb.js'
import { saidIn } from './generation/draft-part.ts'
import type { SessionState } from './session-state.ts'

type EventInit = NonNullable<Exclude<MessageInitShape<typeof SessionEventSchema>, SessionEvent>['event']>
type VolatileCase = 'partExtended' | 'stepRetried' | 'toolProgressed' | 'compactionExtended'

/** What is stored in the event log. */
export type DurableInit = Exclude<EventInit, { readonly case: VolatileCase | undefined }>

/** What only listeners receive. */
export type VolatileInit = Extract<EventInit, { readonly case: VolatileCase }>

export interface DurableEvent extends SessionEvent {
  readonly workspace: string
  readonly seq: number
  readonly position: string
}

/** An event in the log of one session. */
export type LogEvent = Omit<DurableEvent, 'position'>

/** An event that is never stored. */
export interface VolatileEvent extends SessionEvent {
  readonly workspace: string
  /** The last durable event of the session before it; listeners get it after that one. */
  readonly afterSeq: number
}

/** An event that reports usage, with what its session has used by then. */
export function withTotals(event: DurableInit, { costNanos, tokens }: SessionState): DurableInit {
  const sessionUsage = create(SessionUsageSchema, { costNanos, tokens })
  switch (event.case) {
    case 'stepEnded':
      return { ...event, value: { ...event.value, sessionUsage } }
    case 'usageRecorded':
      return { ...event, value: { ...event.value, sessionUsage } }
    case 'stepFailed':
      return event.value.usage === undefined ? event : { ...event, value: { ...event.value, sessionUsage } }
    default:
      return event
  }
}

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

/** Characters of the name of a member, about. */
const MEMBER = 8

/** Characters that the content of an event keeps in memory, about. */
export function charactersOf(value: unknown): number {
  if (typeof value === 'string') return value.length
  if (typeof value !== 'object' || value === null) return 0
  let characters = 0
  for (const member of Object.values(value)) characters += MEMBER + charactersOf(member)
  return characters
}
