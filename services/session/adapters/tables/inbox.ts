import { type Delivery, PromptSchema, SyntheticTextSchema } from '#gen/portico/session/v1/session_pb.js'
import type { Admitter, InboxItem, KnownItem, TakenId, WaitingInput } from '#services/session/domain/inbox.ts'
import type { Write } from '#services/session/domain/write.ts'
import { defineTable, integer, json, message, optional, type RowOf, text } from '#shared/stores/table.ts'

/** An inbox item: waiting, delivered as a message with the same id, or cancelled. It is kept in any of these states. */
export const inbox = defineTable({
  name: 'inbox',
  columns: {
    workspace: text(),
    id: text(),
    sessionId: text(),
    /** Order of admission. */
    seq: integer(),
    kind: text<InboxItem['type']>(),
    state: text<KnownItem['state']>(),
    delivery: integer<Delivery>(),
    digest: text(),
    admitter: json<Admitter>(),
    timeCreated: integer(),
    /** When it was delivered or cancelled. */
    timeSettled: optional(integer()),
    /** JSON: the content of an item of this kind. */
    data: text(),
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
  const { id, sessionId, type: kind, delivery, timeCreated } = item
  return {
    workspace,
    id,
    sessionId,
    seq,
    kind,
    state: 'waiting',
    delivery,
    digest,
    timeCreated,
    timeSettled: null,
    admitter: JSON.stringify(admitter),
    data: payloadOf(item),
  }
}

const prompts = message(PromptSchema)
const synthetics = message(SyntheticTextSchema)

/** The content of an item is the member that is named like its type. */
function payloadOf(item: InboxItem): string {
  switch (item.type) {
    case 'prompt':
      return prompts.encode(item.prompt)
    case 'synthetic':
      return synthetics.encode(item.synthetic)
    case 'move':
      return JSON.stringify(item.move)
    case 'compaction':
      return JSON.stringify(item.compaction)
  }
}

/** What changes in the record of an item that is delivered or cancelled. */
export function settledUpdate(
  write: Extract<Write, { type: 'deliver' | 'cancel' }>,
): Pick<InboxRecord, 'state' | 'timeSettled'> {
  return write.type === 'deliver'
    ? { state: 'delivered', timeSettled: write.timeDelivered }
    : { state: 'cancelled', timeSettled: write.timeCancelled }
}

/** The content of an item. */
export function parsePayload(kind: InboxRecord['kind'], data: string) {
  if (kind === 'prompt') return prompts.decode(data)
  return kind === 'synthetic' ? synthetics.decode(data) : JSON.parse(data)
}

/** The item, in any state. */
function toInboxItem({ kind, id, sessionId, data, delivery, timeCreated }: InboxRecord): InboxItem {
  return { type: kind, id, sessionId, delivery, timeCreated, [kind]: parsePayload(kind, data) } as InboxItem
}

export function toKnownItem(record: InboxRecord): KnownItem {
  return { item: toInboxItem(record), state: record.state }
}

/** The use of the record's id. */
export function toTakenId(record: InboxRecord): TakenId {
  return { sessionId: record.sessionId, input: { ...toKnownItem(record), digest: record.digest } }
}

/**
 * How many steers enter together, and how many characters they have at most, so that writing them takes little time.
 */
const MOST_STEERS = 50
const MOST_CHARACTERS = 1_048_576

/** The steers that enter together: the oldest ones. The very first one enters however long it is. */
export class FirstSteers {
  /** How many to read. */
  static readonly read = MOST_STEERS + 1
  readonly steers: WaitingInput[] = []
  more = false
  #characters = 0

  /** Adds the next one; false: it enters later. */
  add(record: InboxRecord): boolean {
    const { length } = this.steers
    this.#characters += record.data.length
    this.more = length === MOST_STEERS || (length > 0 && this.#characters > MOST_CHARACTERS)
    if (!this.more) this.steers.push(toWaitingInput(record))
    return !this.more
  }
}

/** Items of both deliveries in order of admission, at most `limit`. */
export function inOrder(steers: readonly WaitingInput[], queued: readonly WaitingInput[], limit: number) {
  return [...steers, ...queued].sort((a, b) => a.seq - b.seq).slice(0, limit)
}

export function toWaitingInput(record: InboxRecord): WaitingInput {
  return { seq: record.seq, item: toInboxItem(record), admitter: JSON.parse(record.admitter) as Admitter }
}
