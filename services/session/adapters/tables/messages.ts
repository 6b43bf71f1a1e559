import { type AssistantPart, AssistantPartSchema } from '#gen/portico/session/v1/message_pb.js'
import { PromptSchema } from '#gen/portico/session/v1/session_pb.js'
import { moneyAsText } from '#services/session/domain/message/size.ts'
import { type AssistantMessage, isSettled, type Message, type StoredMessage } from '#services/session/domain/message.ts'
import type { Write } from '#services/session/domain/write.ts'
import { fromStoredJson, toStoredJson } from '#shared/stores/message-json.ts'
import { defineTable, integer, long, message, type RowOf, text } from '#shared/stores/table.ts'

/** A message; the parts of a step have records of their own. */
export const messages = defineTable({
  name: 'messages',
  columns: {
    workspace: text(),
    id: text(),
    sessionId: text(),
    seq: integer(),
    type: text<Message['type']>(),
    /** 1 for a step that is not completed, and for a running compaction. */
    unfinished: integer<0 | 1>(),
    /** Of a step, the attempt that its current parts belong to; 0 for other messages. */
    attempt: integer(),
    timeCreated: integer(),
    /** JSON. Money is a decimal string, since JSON has no int64. */
    data: long(text()),
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
    /** JSON. */
    data: long(text()),
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
  const { id, type, timeCreated } = message
  return { workspace, id, sessionId, seq, type, timeCreated, ...messageUpdate(message) }
}

/** The fields that change when a message is written again. */
export function messageUpdate(message: Message): Pick<MessageRecord, 'data' | 'unfinished' | 'attempt'> {
  if (message.type !== 'assistant') {
    const unfinished = message.type === 'compaction' && !isSettled(message) ? 1 : 0
    const json = message.type === 'user' ? { ...message, prompt: toStoredJson(PromptSchema, message.prompt) } : message
    return { data: JSON.stringify(moneyAsText(json)), unfinished, attempt: 0 }
  }
  const { parts: _, attempt, ...rest } = message
  const data = JSON.stringify({ ...rest, costNanos: message.costNanos?.toString() })
  return { data, unfinished: message.timeCompleted === undefined ? 1 : 0, attempt }
}

const partData = message(AssistantPartSchema)

/** The records of the parts that a write changes. */
export function partRecords(workspace: string, write: Extract<Write, { type: 'insert' | 'update' }>): PartRecord[] {
  const { message } = write
  if (message.type !== 'assistant') return []
  const changed = write.type === 'insert' ? message.parts.keys() : write.changed
  return [...changed].map((ordinal) => {
    const { id, attempt, parts } = message
    return {
      workspace,
      message: id,
      attempt,
      ordinal,
      data: partData.encode(parts[ordinal] as AssistantPart),
    }
  })
}

/** The part in a record. */
export function parsePart(data: string): AssistantPart {
  return partData.decode(data)
}

/**
 * A message with its parts, which are in order; those of other attempts are left out. Throws if what was stored is no
 * message of that type.
 */
export function toStoredMessage(record: MessageRecord, parts: readonly PartRecord[]): StoredMessage {
  const { seq, type, data, attempt } = record
  const message = JSON.parse(data)
  if (message?.type !== type || typeof message.id !== 'string') {
    throw new SyntaxError(`What is stored as the message ${record.id} is none of the type "${type}"`)
  }
  if (message.costNanos !== undefined) message.costNanos = BigInt(message.costNanos)
  if (type === 'user') message.prompt = fromStoredJson(PromptSchema, message.prompt)
  if (type !== 'assistant') return { seq, message: message as Message }
  const current = parts.filter((part) => part.attempt === attempt)
  message.parts = current.map((part) => parsePart(part.data))
  message.attempt = attempt
  return { seq, message: message as AssistantMessage }
}
