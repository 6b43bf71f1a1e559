import { create, type MessageInitShape } from '@bufbuild/protobuf'
import { PartRef_Kind as Kind, type PartRefSchema, SessionEventSchema } from '#gen/portico/session/v1/event_pb.js'
import type { DurableEvent, DurableInit, VolatileEvent, VolatileInit } from '#services/session/domain/event.ts'

/** The part that words belong to. */
export const TEXT_PART = { messageId: 'msg_1', kind: Kind.TEXT, ordinal: 0 } as const

/** An event that is written when a step begins a part. */
export const PART_STARTED: DurableInit = { case: 'partStarted', value: { part: TEXT_PART } }

/** An event of the log, whose position is its number unless that is given. */
export function durableEvent(
  seq: number,
  event: DurableInit = PART_STARTED,
  { sessionId = 'ses_1', directory = '/project', position = String(seq) } = {},
): DurableEvent {
  const place = { eventId: `evt_${seq}`, sessionId, directory, seq, position }
  return { ...create(SessionEventSchema, { ...place, event }), workspace: 'wrk_1', seq, position }
}

/** An event that is never stored. */
export function volatileEvent(afterSeq: number, event: VolatileInit, sessionId = 'ses_1', id = 'evt_v'): VolatileEvent {
  const made = create(SessionEventSchema, { eventId: id, sessionId, directory: '/project', event })
  return { ...made, workspace: 'wrk_1', afterSeq }
}

/** A word of a part. */
export function wordEvent(
  afterSeq: number,
  delta: string,
  sessionId?: string,
  part: MessageInitShape<typeof PartRefSchema> = TEXT_PART,
): VolatileEvent {
  return volatileEvent(afterSeq, { case: 'partExtended', value: { part, delta } }, sessionId, `evt_${delta}`)
}
