import type { Admitter, Delivery, InboxItem, TakenId, WaitingInput } from '#services/session/domain/inbox.ts'
import type { AssistantMessage, Message, Prompt, StoredMessage } from '#services/session/domain/message.ts'
import type { KnownRequest, PermissionReply, PermissionRequest } from '#services/session/domain/permission.ts'
import type { Write } from '#services/session/domain/revision.ts'
import { decodeEvent, decodeMessage, encodeEvent, encodeMessage } from './codec.ts'

// Records are what both stores keep: flat, made of text, numbers and null, with the same names in both. Whatever
// clients, models or tools may nest is JSON text, so that no store's own rules for keys, depth or numbers apply to it.

/**
 * A message, or an input that waits to become one: then `seq` is null. `data` is the prompt of a user's message, and
 * the whole of any other one.
 */
export interface MessageRecord {
  readonly workspace: string
  readonly id: string
  readonly sessionId: string
  readonly seq: number | null
  readonly type: Message['type']
  readonly data: string
  /** 1 for a step that is not completed. */
  readonly unfinished: 0 | 1
  /** Of an input: its place in the inbox; the other fields of an input are null with it. */
  readonly admitted: number | null
  readonly delivery: Delivery | null
  readonly digest: string | null
  readonly admitter: string | null
  /** When the message was written; of an input, when it was admitted. */
  readonly timeCreated: number
  readonly timeDelivered: number | null
}

export interface EventRecord {
  readonly workspace: string
  readonly id: string
  readonly sessionId: string
  readonly seq: number
  readonly directory: string
  readonly timeCreated: number
  readonly data: string
}

export interface RequestRecord {
  readonly workspace: string
  readonly id: string
  readonly sessionId: string
  readonly seq: number
  readonly data: string
  /** Null while it waits. */
  readonly reply: PermissionReply | null
  readonly message: string
  readonly timeCreated: number
  readonly timeExpires: number
}

/** An approval that an `always` answer saved. */
export interface ApprovalRecord {
  readonly workspace: string
  readonly projectId: string
  readonly action: string
  readonly pattern: string
}

type WriteOf<T extends Write['type']> = Extract<Write, { type: T }>

export function admittedRecord(workspace: string, write: WriteOf<'admit'>): MessageRecord {
  const { item } = write
  return {
    workspace,
    id: item.id,
    sessionId: item.sessionId,
    seq: null,
    type: 'user',
    data: JSON.stringify(item.prompt),
    unfinished: 0,
    admitted: write.seq,
    delivery: item.delivery,
    digest: write.digest,
    admitter: JSON.stringify(write.admitter),
    timeCreated: item.timeCreated,
    timeDelivered: null,
  }
}

export function messageRecord(workspace: string, sessionId: string, write: WriteOf<'insert'>): MessageRecord {
  const { seq, message } = write
  return {
    workspace,
    id: message.id,
    sessionId,
    seq,
    type: message.type,
    data: encodeMessage(message),
    unfinished: isUnfinished(message) ? 1 : 0,
    admitted: null,
    delivery: null,
    digest: null,
    admitter: null,
    timeCreated: message.timeCreated,
    timeDelivered: null,
  }
}

/** What changes in the record of a message that is written again. */
export function messageUpdate(message: Message): Pick<MessageRecord, 'data' | 'unfinished'> {
  return { data: encodeMessage(message), unfinished: isUnfinished(message) ? 1 : 0 }
}

function isUnfinished(message: Message): message is AssistantMessage {
  return message.type === 'assistant' && message.timeCompleted === undefined
}

export function eventRecord(workspace: string, sessionId: string, write: WriteOf<'event'>): EventRecord {
  const { id, seq, directory, timeCreated } = write
  return { workspace, id, sessionId, seq, directory, timeCreated, data: encodeEvent(write.data) }
}

export function requestRecord(workspace: string, write: WriteOf<'ask'>): RequestRecord {
  const { request } = write
  return {
    workspace,
    id: request.id,
    sessionId: request.sessionId,
    seq: write.seq,
    data: JSON.stringify(request),
    reply: null,
    message: '',
    timeCreated: request.timeCreated,
    timeExpires: request.timeExpires,
  }
}

/** A message that has its place in the conversation. */
export function toStoredMessage(record: MessageRecord): StoredMessage {
  const seq = record.seq ?? 0
  if (record.type !== 'user') return { seq, message: decodeMessage(record.data) }
  const timeCreated = record.timeDelivered ?? record.timeCreated
  return { seq, message: { type: 'user', id: record.id, timeCreated, prompt: JSON.parse(record.data) as Prompt } }
}

/** The input as it was admitted, whether it still waits or is a message by now. */
export function toInboxItem(record: MessageRecord): InboxItem {
  const { id, sessionId, timeCreated } = record
  return {
    id,
    sessionId,
    prompt: JSON.parse(record.data) as Prompt,
    delivery: record.delivery as Delivery,
    timeCreated,
  }
}

/** What the record's id names. */
export function toTakenId(record: MessageRecord): TakenId {
  const { sessionId, digest } = record
  return { sessionId, input: digest === null ? undefined : { item: toInboxItem(record), digest } }
}

export function toWaitingInput(record: MessageRecord): WaitingInput {
  const admitter = JSON.parse(record.admitter as string) as Admitter
  return { seq: record.admitted as number, item: toInboxItem(record), admitter }
}

export function toDurableEvent(record: EventRecord, position: string) {
  const { id, workspace, sessionId, seq, directory, timeCreated } = record
  return { id, workspace, sessionId, directory, timeCreated, seq, position, data: decodeEvent(record.data) }
}

export function toRequest(record: RequestRecord): PermissionRequest {
  return JSON.parse(record.data) as PermissionRequest
}

export function toKnownRequest(record: RequestRecord): KnownRequest {
  const { reply, message } = record
  return { request: toRequest(record), answer: reply === null ? undefined : { reply, message } }
}
