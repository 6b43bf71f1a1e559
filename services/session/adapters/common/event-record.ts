import type { DurableEvent, DurableEventData, Usage } from '#services/session/domain/event.ts'
import type { PartPlace } from '#services/session/domain/event-part.ts'
import type { ToolPart } from '#services/session/domain/message.ts'
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

export function eventRecord(
  workspace: string,
  sessionId: string,
  write: Extract<Write, { type: 'event' }>,
): EventRecord {
  const { id, seq, directory, timeCreated, data, part } = write
  return { workspace, id, sessionId, seq, directory, timeCreated, data: JSON.stringify(stored(data, part)) }
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
export function parseEvent({ data: text }: EventRecord): StoredEvent {
  const { source, ...data } = JSON.parse(text)
  if (data.type === 'step-ended' || data.type === 'usage-recorded') data.costNanos = BigInt(data.costNanos)
  for (const name of ['usage', 'sessionUsage']) {
    if (data[name] !== undefined) data[name].costNanos = BigInt(data[name].costNanos)
  }
  if (data.type === 'session-created') data.session.costNanos = BigInt(data.session.costNanos)
  if (data.type === 'inbox-enqueued') {
    // In the first form there were no others.
    data.item.type ??= 'prompt'
    if (data.item[data.item.type] === undefined) return { data, source: { type: 'item', id: data.item.id } }
  }
  if (data.type === 'synthetic-added') return { data, source: { type: 'item', id: data.messageId } }
  if (source === undefined) return { data, source }
  return { data, source: { type: 'part', message: data.messageId ?? data.part.messageId, ...source } }
}

/** Events that hold so many characters are a page of a session's log, however few they are. */
export const PAGE_CHARACTERS = 1_000_000

/** An event with what it lacks; `held` is the JSON in the record of its source. */
export function completeEvent(record: EventRecord, { data, source }: StoredEvent, held?: string | undefined) {
  const { id, workspace, sessionId, seq, directory, timeCreated } = record
  if (source !== undefined) {
    if (held === undefined) throw new Error(`What the event ${id} is about is missing`)
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
