import { create, type MessageInitShape } from '@bufbuild/protobuf'
import { type SessionEvent, type SessionEventSchema, SessionUsageSchema } from '#gen/portico/session/v1/event_pb.js'
import type { SessionState } from './session-state.ts'

type EventInit = NonNullable<Exclude<MessageInitShape<typeof SessionEventSchema>, SessionEvent>['event']>
type VolatileCase = 'partExtended' | 'stepRetried' | 'toolProgressed' | 'compactionExtended'

/** What is stored in the event log. */
export type DurableInit = Exclude<EventInit, { readonly case: VolatileCase | undefined }>

/** What only listeners receive. */
export type VolatileInit = Extract<EventInit, { readonly case: VolatileCase }>

/** An event in the log. */
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

/** An event that tells what was used, with what its session has used by then. */
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
