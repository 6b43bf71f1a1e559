import {
  type AssistantPart,
  AssistantPartSchema,
  type Message,
  MessageSchema,
} from '#gen/portico/session/v1/message_pb.js'
import { isOf, isSettled, type Kind, type StoredMessage, withChanges } from '#services/session/domain/message.ts'
import type { Write } from '#services/session/domain/write.ts'
import { defineTable, integer, long, message as messageColumn, type RowOf, text } from '#shared/stores/table.ts'

/** A message; the parts of a step have records of their own. */
export const messages = defineTable({
  name: 'messages',
  columns: {
    workspace: text(),
    id: text(),
    sessionId: text(),
    seq: integer(),
    type: text<Kind>(),
    /** 1 for a step that is not completed, and for a running compaction. */
    unfinished: integer<0 | 1>(),
    /** Of a step, the attempt that its current parts belong to; 0 for other messages. */
    attempt: integer(),
    timeCreated: integer(),
    /** Without the parts of a step. */
    data: long(messageColumn(MessageSchema)),
  },
  // A write costs as much as the pages that it changes. An index that begins with the session adds one for each session
  // of the transaction, fewer if its keys are small: so messages are indexed by the session's number.
  sqlite: {
    columns: { session: integer() },
    primaryKey: ['workspace', 'id'],
    indexes: { messagesUnfinished: '(session) WHERE unfinished = 1' },
    uniqueIndexes: { messagesBySeq: '(session, seq)' },
  },
  mongo: {
    indexes: [
      { name: 'messagesBySeq', key: { workspace: 1, sessionId: 1, seq: 1 }, unique: true },
      {
        name: 'messagesUnfinished',
        key: { workspace: 1, sessionId: 1 },
        partialFilterExpression: { unfinished: 1 },
      },
    ],
  },
})

/**
 * A part of a step. It is written again only if it has changed, so that what a step writes grows with its size and not
 * with the square of it. Parts of attempts that failed are kept, since events refer to them.
 */
export const parts = defineTable({
  name: 'parts',
  columns: {
    workspace: text(),
    /** The message's id. */
    message: text(),
    attempt: integer(),
    ordinal: integer(),
    data: long(messageColumn(AssistantPartSchema)),
  },
  sqlite: { primaryKey: ['workspace', 'message', 'attempt', 'ordinal'] },
  mongo: {
    indexes: [{ name: 'partsByMessage', key: { workspace: 1, message: 1, attempt: 1, ordinal: 1 }, unique: true }],
  },
})

export type MessageRecord = RowOf<typeof messages.columns>
export type PartRecord = RowOf<typeof parts.columns>

/** The record of a new message; its parts have records of their own. */
export function messageRecord(
  workspace: string,
  sessionId: string,
  { seq, message }: Extract<Write, { type: 'insert' }>,
): MessageRecord {
  const { messageId: id, createTime: timeCreated, kind } = message
  return { workspace, id, sessionId, seq, type: kind.case as Kind, timeCreated, ...messageUpdate(message) }
}

/** The fields that change when a message is written again. */
export function messageUpdate(message: Message): Pick<MessageRecord, 'data' | 'unfinished' | 'attempt'> {
  const { data } = messages.columns
  const isStep = isOf(message, 'assistant')
  return {
    data: data.encode(isStep ? withChanges(message, { parts: [] }) : message),
    unfinished: (isStep || isOf(message, 'compaction')) && !isSettled(message) ? 1 : 0,
    attempt: isStep ? message.kind.value.attempt : 0,
  }
}

export function partRecords(workspace: string, write: Extract<Write, { type: 'insert' | 'update' }>): PartRecord[] {
  const { messageId, kind } = write.message
  if (kind.case !== 'assistant') return []
  const { attempt, parts: all } = kind.value
  const changed = write.type === 'insert' ? all.keys() : write.changed
  return [...changed].map((ordinal) => {
    const data = parts.columns.data.encode(all[ordinal] as AssistantPart)
    return { workspace, message: messageId, attempt, ordinal, data }
  })
}

export function parsePart(data: string): AssistantPart {
  return parts.columns.data.decode(data)
}

/**
 * A message with its parts, which are in order; those of other attempts are left out. Throws if what was stored is no
 * message of that kind.
 */
export function toStoredMessage(record: MessageRecord, parts: readonly PartRecord[]): StoredMessage {
  const { seq, type, data, attempt } = record
  const message = messages.columns.data.decode(data)
  if (!isOf(message, type) || message.messageId === '') {
    throw new SyntaxError(`What is stored as the message ${record.id} is none of the kind "${type}"`)
  }
  if (!isOf(message, 'assistant')) return { seq, message }
  const current = parts.filter((part) => part.attempt === attempt)
  return { seq, message: withChanges(message, { parts: current.map((part) => parsePart(part.data)) }) }
}
