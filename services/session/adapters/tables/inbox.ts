import { create } from '@bufbuild/protobuf'
import { type Delivery, type InboxItem, InboxItemSchema } from '#gen/portico/session/v1/session_pb.js'
import type { Admitter, InboxEntry, TakenId } from '#services/session/domain/inbox.ts'
import type { Write } from '#services/session/domain/write.ts'
import {
  defineTable,
  fromRow,
  integer,
  json,
  message,
  optional,
  type RowOf,
  text,
  toRow,
} from '#shared/stores/table.ts'

/** The members of an Admitter. */
export const ADMITTER = 'organizationId, workspaceId, apiKeyId, kind'

/** An inbox item: waiting, delivered as a message with the same id, or cancelled. It is kept in any of these states. */
export const inbox = defineTable({
  name: 'inbox',
  columns: {
    workspace: text(),
    id: text(),
    sessionId: text(),
    /** Order of admission. */
    seq: integer(),
    /** Of its payload. */
    kind: text(),
    state: text<InboxEntry['state']>(),
    delivery: integer<Delivery>(),
    digest: text(),
    admitter: json<Admitter>(ADMITTER),
    createTime: integer(),
    /** When it was delivered or cancelled. */
    settleTime: optional(integer()),
    /** An item that has its payload only. */
    data: message(InboxItemSchema),
  },
  sqlite: {
    columns: { session: integer() },
    primaryKey: ['workspace', 'id'],
    indexes: {
      inboxWaiting: "(session, delivery, seq) WHERE state = 'waiting'",
      inboxCancelled: "(session) WHERE state = 'cancelled'",
    },
  },
  mongo: {
    indexes: [
      {
        name: 'inboxWaiting',
        key: { workspace: 1, sessionId: 1, delivery: 1, seq: 1 },
        partialFilterExpression: { state: 'waiting' },
      },
      {
        name: 'inboxCancelled',
        key: { workspace: 1, sessionId: 1, seq: 1 },
        partialFilterExpression: { state: 'cancelled' },
      },
    ],
  },
})

export type InboxRecord = RowOf<typeof inbox.columns>

export function inboxRecord(workspace: string, write: Extract<Write, { type: 'admit' }>): InboxRecord {
  const { item, seq, digest, admitter } = write
  const { messageId: id, sessionId, delivery, createTime, payload } = item
  return toRow(inbox.columns, {
    workspace,
    id,
    sessionId,
    seq,
    kind: payload.case ?? '',
    state: 'waiting',
    delivery,
    digest,
    admitter,
    createTime,
    data: create(InboxItemSchema, { payload }),
  })
}

/** What changes in the record of an item that is delivered or cancelled. */
export function settledUpdate(
  write: Extract<Write, { type: 'deliver' | 'cancel' }>,
): Pick<InboxRecord, 'state' | 'settleTime'> {
  return write.type === 'deliver'
    ? { state: 'delivered', settleTime: write.timeDelivered }
    : { state: 'cancelled', settleTime: write.timeCancelled }
}

/** What an item brings, read from the JSON in its record. */
export function parsePayload(data: string): InboxItem['payload'] {
  return inbox.columns.data.decode(data).payload
}

export function toEntry(record: InboxRecord): InboxEntry {
  const { id, sessionId, seq, state, delivery, digest, admitter, createTime, data } = fromRow(inbox.columns, record)
  return { seq, item: { ...data, messageId: id, sessionId, delivery, createTime }, state, digest, admitter }
}

export function toTakenId(record: InboxRecord): TakenId {
  return { sessionId: record.sessionId, input: toEntry(record) }
}

/**
 * How many steers enter together, and how many characters they have at most, so that writing them takes little time.
 */
const MOST_STEERS = 50
const MOST_CHARACTERS = 1_048_576

/** The steers that enter together: the oldest ones. The very first one enters however long it is. */
export class FirstSteers {
  static readonly read = MOST_STEERS + 1
  readonly steers: InboxEntry[] = []
  more = false
  #characters = 0

  /** Adds the next one; false: it enters later. */
  add(record: InboxRecord): boolean {
    const { length } = this.steers
    this.#characters += record.data.length
    this.more = length === MOST_STEERS || (length > 0 && this.#characters > MOST_CHARACTERS)
    if (!this.more) this.steers.push(toEntry(record))
    return !this.more
  }
}

/** Items of both deliveries in order of admission, at most `limit`. */
export function inOrder(steers: readonly InboxEntry[], queued: readonly InboxEntry[], limit: number) {
  return [...steers, ...queued].sort((a, b) => a.seq - b.seq).slice(0, limit)
}
