import type { DurableEvent, DurableEventData, Usage } from '#services/session/domain/event.ts'
import type { PartPlace } from '#services/session/domain/event-part.ts'
import type { ToolPart } from '#services/session/domain/message.ts'
import { NO_TOKENS } from '#services/session/domain/session.ts'
import type { Write } from '#services/session/domain/write.ts'

export interface EventRecord {
  readonly workspace: string
  readonly id: string
  readonly sessionId: string
  readonly seq: number
  readonly directory: string
  readonly timeCreated: number
  /** JSON, without what a part or an inbox item holds. It knows no int64: money is a decimal text in it. */
  readonly data: string
}

/** The record that holds what an event leaves out. */
export type EventSource =
  | ({ readonly type: 'part'; readonly message: string } & PartPlace)
  | { readonly type: 'item'; readonly id: string }

/** An event as it is stored, and what it lacks. */
export interface StoredEvent {
  // biome-ignore lint/suspicious/noExplicitAny: JSON of our own.
  readonly data: any
  readonly source: EventSource | undefined
}

export function eventRecord(workspace: string, sessionId: string, write: EventWrite): EventRecord {
  const { id, seq, directory, timeCreated, data, part } = write
  return { workspace, id, sessionId, seq, directory, timeCreated, data: JSON.stringify(stored(data, part)) }
}

/**
 * Likewise, without what the record says besides, or what a new session begins with: it is a third as long for most
 * sessions. Processes of older versions cannot read it, so that it is not for stores that several have open.
 */
export function shortEventRecord(workspace: string, sessionId: string, write: EventWrite): EventRecord {
  const { id, seq, directory, timeCreated, data, part } = write
  const short = shortened(data, write) ?? stored(data, part)
  return { workspace, id, sessionId, seq, directory, timeCreated, data: JSON.stringify(short) }
}

type EventWrite = Extract<Write, { type: 'event' }>

function shortened(data: DurableEventData, { directory, timeCreated }: EventWrite): object | undefined {
  const ifNot = <T>(usual: T, value: T): T | undefined => (value === usual ? undefined : value)
  if (data.type === 'inbox-enqueued') {
    const { type, id, delivery } = data.item
    return { type: data.type, item: { type, id, delivery, timeCreated: ifNot(timeCreated, data.item.timeCreated) } }
  }
  if (data.type !== 'session-created') return undefined
  const { session } = data
  const { location, costNanos, tokens } = session
  return {
    type: data.type,
    session: {
      ...session,
      id: undefined,
      location: { ...location, directory: ifNot(directory, location.directory) },
      costNanos: ifNot('0', costNanos.toString()),
      tokens: ifNot(NO_TOKENS, tokens),
      timeCreated: ifNot(timeCreated, session.timeCreated),
      timeUpdated: ifNot(timeCreated, session.timeUpdated),
    },
  }
}

function stored(data: DurableEventData, part: PartPlace | undefined): object {
  switch (data.type) {
    case 'step-ended':
    case 'usage-recorded':
      return { ...data, costNanos: data.costNanos.toString(), sessionUsage: storedUsage(data.sessionUsage) }
    case 'step-failed':
      return { ...data, usage: storedUsage(data.usage), sessionUsage: storedUsage(data.sessionUsage) }
    case 'session-created':
      return { ...data, session: { ...data.session, costNanos: data.session.costNanos.toString() } }
    case 'inbox-enqueued':
      return { ...data, item: { ...data.item, [data.item.type]: undefined } }
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

/** Reads an event as far as its own record goes. Events of the first form lack nothing. */
export function parseEvent(record: EventRecord): StoredEvent {
  const { source, ...data } = JSON.parse(record.data)
  if (data.type === 'step-ended' || data.type === 'usage-recorded') data.costNanos = BigInt(data.costNanos)
  for (const name of ['usage', 'sessionUsage']) {
    if (data[name] !== undefined) data[name].costNanos = BigInt(data[name].costNanos)
  }
  if (data.type === 'session-created') lengthen(data.session, record)
  if (data.type === 'inbox-enqueued') {
    const { sessionId, timeCreated } = record
    // In the first form there were no others.
    data.item = { type: 'prompt', sessionId, timeCreated, ...data.item }
    if (data.item[data.item.type] === undefined) return { data, source: { type: 'item', id: data.item.id } }
  }
  if (data.type === 'synthetic-added') return { data, source: { type: 'item', id: data.messageId } }
  if (source === undefined) return { data, source }
  return { data, source: { type: 'part', message: data.messageId ?? data.part.messageId, ...source } }
}

// biome-ignore lint/suspicious/noExplicitAny: JSON of our own.
function lengthen(session: any, { sessionId, directory, timeCreated }: EventRecord): void {
  session.id ??= sessionId
  session.location.directory ??= directory
  session.costNanos = BigInt(session.costNanos ?? 0)
  session.tokens ??= NO_TOKENS
  session.timeCreated ??= timeCreated
  session.timeUpdated ??= timeCreated
}

/** Events that hold so many characters are a page of a session's log, however few they are. */
export const PAGE_CHARACTERS = 1_000_000

/** An event with what it lacks; `held` is the JSON in the record of its source. */
export function completeEvent(record: EventRecord, { data, source }: StoredEvent, held?: string | undefined) {
  const { id, workspace, sessionId, seq, directory, timeCreated } = record
  if (source !== undefined) {
    if (held === undefined) throw new Error(`The content of the event ${id} is missing`)
    fill(data, JSON.parse(held))
  }
  return { id, workspace, sessionId, directory, timeCreated, seq, data: data as DurableEvent['data'] }
}

// biome-ignore lint/suspicious/noExplicitAny: JSON of our own.
function fill(data: any, held: any): void {
  switch (data.type) {
    case 'inbox-enqueued':
      data.item[data.item.type] = held
      break
    case 'synthetic-added':
      data.synthetic = held
      break
    case 'part-ended':
      data.text = held.type === 'tool' ? held.rawInput : held.text
      if (held.type === 'reasoning' && held.state !== undefined) data.state = held.state
      break
    case 'tool-called':
      data.input = held.input
      break
    default: {
      const { content, metadata } = held as ToolPart
      Object.assign(data, { content, metadata })
    }
  }
}

/** What sessions begin with. */
const FIRST_TYPES: readonly unknown[] = ['session-created', 'session-forked']

/** Whether the events of a session are kept from a number on; `first` is the first of the session that is, if any. */
export function isKept(first: Pick<EventRecord, 'seq' | 'data'> | null | undefined, afterSeq: number): boolean {
  if (first === null || first === undefined) return false
  // What a session was made from may have taken its first numbers.
  return first.seq <= Math.max(afterSeq, 1) || FIRST_TYPES.includes(JSON.parse(first.data).type)
}

/** Whether an event is the last one of a session that was removed. */
export function isDeletion({ data }: EventRecord): boolean {
  return data.startsWith(DELETION)
}

/** What its JSON begins with; the type comes first. */
const DELETION = JSON.stringify({ type: 'session-deleted' } satisfies DurableEventData).slice(0, -1)
