import { create } from '@bufbuild/protobuf'
import type { AssistantPart } from '#gen/portico/session/v1/message_pb.js'
import { type InboxItem, InboxItemSchema, SessionSchema } from '#gen/portico/session/v1/session_pb.js'
import type { DurableEvent, DurableEventData, Usage } from '#services/session/domain/event.ts'
import type { PartPlace } from '#services/session/domain/event-part.ts'
import { saidIn } from '#services/session/domain/generation/draft-part.ts'
import type { Write } from '#services/session/domain/write.ts'
import { fromStoredJson, toStoredJson } from '#shared/stores/message-json.ts'
import { defineTable, integer, optional, type RowOf, text } from '#shared/stores/table.ts'
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
    timeCreated: integer(),
    /** JSON, without the content of a part or an inbox item. Money is a decimal string, since JSON has no int64. */
    data: text(),
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
      { name: 'eventsByTime', key: { timeCreated: 1 } },
    ],
  },
})

/** The id of a file's log. */
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

/** An event as it is stored, and where the rest of it is. */
export interface StoredEvent {
  // biome-ignore lint/suspicious/noExplicitAny: JSON of our own.
  readonly data: any
  readonly source: EventSource | undefined
}

type EventWrite = Extract<Write, { type: 'event' }>

/** The record of an event, without what the record of a part or an inbox item contains. */
export function eventRecord(workspace: string, sessionId: string, write: EventWrite): EventRecord {
  const { id, seq, directory, timeCreated } = write
  return { workspace, id, sessionId, seq, directory, timeCreated, data: JSON.stringify(stored(write)) }
}

function stored({ data, part }: EventWrite): object {
  switch (data.type) {
    case 'step-ended':
    case 'usage-recorded':
      return { ...data, costNanos: data.costNanos.toString(), sessionUsage: storedUsage(data.sessionUsage) }
    case 'step-failed':
      return { ...data, usage: storedUsage(data.usage), sessionUsage: storedUsage(data.sessionUsage) }
    case 'session-created':
      return { ...data, session: toStoredJson(SessionSchema, data.session) }
    case 'inbox-enqueued': {
      const { messageId, delivery } = data.item
      return { type: data.type, item: { messageId, delivery } }
    }
    case 'synthetic-added':
      return { ...data, synthetic: undefined }
    case 'part-ended':
      return part === undefined ? data : { ...data, text: undefined, state: undefined, source: part }
    case 'tool-called':
      return part === undefined ? data : { ...data, input: undefined, source: part }
    case 'tool-succeeded':
    case 'tool-failed':
      return part === undefined ? data : { ...data, content: undefined, metadata: undefined, source: part }
    default:
      return data
  }
}

function storedUsage(usage: Usage | undefined): object | undefined {
  return usage && { ...usage, costNanos: usage.costNanos.toString() }
}

/** Parses what an event's own record contains. */
export function parseEvent(record: EventRecord): StoredEvent {
  const { source, ...data } = JSON.parse(record.data)
  if (data.type === 'step-ended' || data.type === 'usage-recorded') data.costNanos = BigInt(data.costNanos)
  for (const name of ['usage', 'sessionUsage']) {
    if (data[name] !== undefined) data[name].costNanos = BigInt(data[name].costNanos)
  }
  if (data.type === 'session-created') data.session = fromStoredJson(SessionSchema, data.session)
  if (data.type === 'inbox-enqueued') {
    const { sessionId, timeCreated: createTime } = record
    data.item = create(InboxItemSchema, { sessionId, createTime, ...data.item })
    return { data, source: { type: 'item', id: data.item.messageId } }
  }
  if (data.type === 'synthetic-added') return { data, source: { type: 'item', id: data.messageId } }
  if (source === undefined) return { data, source }
  return { data, source: { type: 'part', message: data.messageId ?? data.part.messageId, ...source } }
}

/** After so many characters, a page of a session's log ends, however few events that are. */
export const PAGE_CHARACTERS = 1_000_000

/** Completes an event; `held` is the JSON in the record of its source. */
export function completeEvent(record: EventRecord, { data, source }: StoredEvent, held?: string | undefined) {
  const { id, workspace, sessionId, seq, directory, timeCreated } = record
  if (source !== undefined) {
    if (held === undefined) throw new Error(`The content of the event ${id} is missing`)
    if (source.type === 'part') fillFromPart(data, parsePart(held))
    else fillFromItem(data, parsePayload(held))
  }
  return { id, workspace, sessionId, directory, timeCreated, seq, data: data as DurableEvent['data'] }
}

// biome-ignore lint/suspicious/noExplicitAny: JSON of our own.
function fillFromItem(data: any, payload: InboxItem['payload']): void {
  if (data.type === 'inbox-enqueued') data.item = { ...data.item, payload }
  else data.synthetic = payload.value
}

// biome-ignore lint/suspicious/noExplicitAny: JSON of our own.
function fillFromPart(data: any, held: AssistantPart): void {
  const { part } = held
  if (data.type === 'part-ended') data.text = saidIn(held)
  if (part.case === 'reasoning' && part.value.state !== undefined) data.state = part.value.state
  if (part.case !== 'tool' || data.type === 'part-ended') return
  const { input = {}, content, metadata } = part.value
  Object.assign(data, data.type === 'tool-called' ? { input } : { content, metadata })
}

/** Types of the first event of a session. */
const FIRST_TYPES: readonly unknown[] = ['session-created', 'session-forked']

/** Whether all events of a session after a number are still stored; `first` is the oldest one that is, if any. */
export function isKept(first: Pick<EventRecord, 'seq' | 'data'> | null | undefined, afterSeq: number): boolean {
  if (first === null || first === undefined) return false
  // The first numbers may belong to the messages that the session was made with.
  return first.seq <= Math.max(afterSeq, 1) || FIRST_TYPES.includes(JSON.parse(first.data).type)
}

/** Whether an event is the last one of a session that was removed. */
export function isDeletion({ data }: EventRecord): boolean {
  return data.startsWith(DELETION)
}

/** The beginning of its JSON, in which the type comes first. */
const DELETION = JSON.stringify({ type: 'session-deleted' } satisfies DurableEventData).slice(0, -1)
