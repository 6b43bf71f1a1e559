import { create, type MessageInitShape } from '@bufbuild/protobuf'
import { type SessionEvent, SessionEventSchema } from '#gen/portico/session/v1/event_pb.js'
import type { LogEvent, PartPlace } from '#services/session/domain/event.ts'
import { saidIn } from '#services/session/domain/generation/draft-part.ts'
import type { Write } from '#services/session/domain/write.ts'
import { defineTable, integer, message, optional, type RowOf, text, toRow } from '#shared/stores/table.ts'
import { parsePayload } from './inbox.ts'
import { parsePart } from './messages.ts'

export const events = defineTable({
  name: 'events',
  columns: {
    workspace: text(),
    id: text(),
    sessionId: text(),
    seq: integer(),
    directory: text(),
    createTime: integer(),
    /** An event that has nothing but what it is about, without the content of a part or an inbox item. */
    data: message(SessionEventSchema),
    /** The part whose content that is. */
    attempt: optional(integer()),
    ordinal: optional(integer()),
  },
  sqlite: {
    // The last events of removed sessions are of no session.
    columns: { workspace: integer(), position: integer(), session: optional(integer()) },
    primaryKey: ['workspace', 'position'],
    withoutRowid: true,
    indexes: {
      eventsBySession: '(session, seq)',
      eventsOfRemoved: '(workspace, sessionId, seq) WHERE session IS NULL',
    },
  },
  mongo: {
    indexes: [
      { name: 'eventsBySeq', key: { workspace: 1, sessionId: 1, seq: 1 }, unique: true },
      { name: 'eventsByTime', key: { createTime: 1 } },
    ],
  },
})

export const log = defineTable({ name: 'log', columns: { id: text() }, sqlite: {} })

/** The numbers by which events name workspaces in SQLite. */
export const workspaces = defineTable({
  name: 'workspaces',
  columns: { number: integer(), id: text() },
  sqlite: { primaryKey: ['number'], constraints: ['UNIQUE (id)'] },
})

/** The last event of each workspace that has expired, in SQLite. */
export const expired = defineTable({
  name: 'expired',
  columns: { workspace: integer(), position: integer() },
  sqlite: { primaryKey: ['workspace'] },
})

export type EventRecord = RowOf<typeof events.columns>

/** The record that contains what an event omits. */
export type EventSource =
  | ({ readonly type: 'part'; readonly message: string } & PartPlace)
  | { readonly type: 'item'; readonly id: string }

export interface StoredEvent {
  readonly event: SessionEvent['event']
  readonly source: EventSource | undefined
}

type EventWrite = Extract<Write, { type: 'event' }>
type EventInit = Exclude<MessageInitShape<typeof SessionEventSchema>, SessionEvent>['event']

/** The record of an event, without what the record of a part or an inbox item contains. */
export function eventRecord(workspace: string, write: EventWrite): EventRecord {
  const { seq, event, part } = write
  const { eventId: id, sessionId, directory, createTime } = event
  const data = create(SessionEventSchema, { event: stored(write) })
  return toRow(events.columns, { workspace, id, sessionId, seq, directory, createTime, data, ...part })
}

function stored({ event: { event }, part }: EventWrite): EventInit {
  if (event.case === 'inboxEnqueued') {
    const { messageId, delivery } = event.value.item ?? {}
    return { case: 'inboxEnqueued', value: { item: { messageId, delivery } } }
  }
  if (event.case === 'syntheticAdded') return { case: event.case, value: { messageId: event.value.messageId } }
  if (part === undefined) return event
  switch (event.case) {
    case 'partEnded':
      return { case: 'partEnded', value: { part: event.value.part } }
    case 'toolCalled':
    case 'toolSucceeded': {
      const { messageId, callId } = event.value
      return { case: event.case, value: { messageId, callId } }
    }
    case 'toolFailed': {
      const { messageId, callId, error } = event.value
      return { case: 'toolFailed', value: { messageId, callId, error } }
    }
    default:
      return event
  }
}

/** Parses what an event's own record contains. */
export function parseEvent({ data, attempt, ordinal }: EventRecord): StoredEvent {
  const { event } = events.columns.data.decode(data)
  const part = (message = ''): EventSource | undefined =>
    attempt === null || ordinal === null ? undefined : { type: 'part', message, attempt, ordinal }
  switch (event.case) {
    case 'inboxEnqueued':
      return { event, source: { type: 'item', id: event.value.item?.messageId ?? '' } }
    case 'syntheticAdded':
      return { event, source: { type: 'item', id: event.value.messageId } }
    case 'partEnded':
      return { event, source: part(event.value.part?.messageId) }
    case 'toolCalled':
    case 'toolSucceeded':
    case 'toolFailed':
      return { event, source: part(event.value.messageId) }
    default:
      return { event, source: undefined }
  }
}

/** After so many characters, a page of a session's log ends, however few events that are. */
export const PAGE_CHARACTERS = 1_000_000

/** Completes an event; `held` is the JSON in the record of its source. */
export function completeEvent(record: EventRecord, stored: StoredEvent, held?: string): LogEvent {
  const { id: eventId, workspace, sessionId, seq, directory, createTime } = record
  const made = { eventId, createTime, sessionId, directory, seq, event: whole(record, stored, held) }
  return { ...create(SessionEventSchema, made), workspace, seq }
}

function whole(record: EventRecord, stored: StoredEvent, held: string | undefined): EventInit {
  if (stored.source === undefined) return stored.event
  if (held === undefined) throw new Error(`The content of the event ${record.id} is missing`)
  return stored.source.type === 'part' ? withPart(stored, held) : withItem(record, stored, held)
}

function withItem({ sessionId, createTime }: EventRecord, { event }: StoredEvent, held: string): EventInit {
  const payload = parsePayload(held)
  if (event.case === 'inboxEnqueued') {
    const { messageId, delivery } = event.value.item ?? {}
    return { case: 'inboxEnqueued', value: { item: { messageId, sessionId, createTime, delivery, payload } } }
  }
  if (event.case !== 'syntheticAdded' || payload.case !== 'synthetic') return event
  return { case: 'syntheticAdded', value: { messageId: event.value.messageId, synthetic: payload.value } }
}

function withPart({ event }: StoredEvent, held: string): EventInit {
  const whole = parsePart(held)
  const { part } = whole
  if (event.case === 'partEnded') {
    const state = part.case === 'reasoning' ? part.value.state : undefined
    return { case: 'partEnded', value: { part: event.value.part, text: saidIn(whole), state } }
  }
  if (part.case !== 'tool') return event
  const { input = {}, content, metadata } = part.value
  switch (event.case) {
    case 'toolCalled': {
      const { messageId, callId } = event.value
      return { case: 'toolCalled', value: { messageId, callId, input } }
    }
    case 'toolSucceeded': {
      const { messageId, callId } = event.value
      return { case: 'toolSucceeded', value: { messageId, callId, content, metadata } }
    }
    case 'toolFailed': {
      const { messageId, callId, error } = event.value
      return { case: 'toolFailed', value: { messageId, callId, error, content, metadata } }
    }
    default:
      return event
  }
}

/** Whether the JSON of an event begins as that of an event of one of these kinds does. */
function begins(data: string, ...kinds: readonly NonNullable<SessionEvent['event']['case']>[]): boolean {
  return kinds.some((kind) => data.startsWith(`{"${kind}":`))
}

/** Whether all events of a session after a number are still stored; `first` is the oldest one that is, if any. */
export function isKept(first: Pick<EventRecord, 'seq' | 'data'> | null | undefined, afterSeq: number): boolean {
  if (first === null || first === undefined) return false
  // The first numbers may belong to the messages that the session was made with.
  return first.seq <= Math.max(afterSeq, 1) || begins(first.data, 'sessionCreated', 'sessionForked')
}

/** Whether an event is the last one of a session that was removed. */
export function isDeletion({ data }: Pick<EventRecord, 'data'>): boolean {
  return begins(data, 'sessionDeleted')
}
