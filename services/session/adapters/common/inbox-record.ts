import type { Admitter, Delivery, InboxItem, TakenId, WaitingInput } from '#services/session/domain/inbox.ts'
import type { Prompt } from '#services/session/domain/message.ts'
import type { Write } from '#services/session/domain/revision.ts'

/** An inbox item: waiting, delivered as a message of the same id, or cancelled. It is kept whatever became of it. */
export interface InboxRecord {
  readonly workspace: string
  readonly id: string
  readonly sessionId: string
  /** Order of admission. */
  readonly seq: number
  readonly kind: InboxItem['type']
  readonly state: 'waiting' | 'delivered' | 'cancelled'
  readonly delivery: Delivery
  /** JSON: what an item of this kind holds. */
  readonly data: string
  readonly digest: string
  /** JSON. */
  readonly admitter: string
  readonly timeCreated: number
  /** When it was delivered or cancelled. */
  readonly timeSettled: number | null
}

export function inboxRecord(workspace: string, write: Extract<Write, { type: 'admit' }>): InboxRecord {
  const { item, seq, digest, admitter } = write
  const { id, sessionId, type, delivery, timeCreated } = item
  return {
    ...{ workspace, id, sessionId, seq, kind: type, state: 'waiting', delivery, digest, timeCreated },
    data: JSON.stringify(item.prompt),
    admitter: JSON.stringify(admitter),
    timeSettled: null,
  }
}

/** What changes in the record of an item that is delivered. */
export function deliveredUpdate(
  write: Extract<Write, { type: 'deliver' }>,
): Pick<InboxRecord, 'state' | 'timeSettled'> {
  return { state: 'delivered', timeSettled: write.timeDelivered }
}

/** The item as it was admitted, whether it still waits or is a message by now. */
function toInboxItem({ kind, id, sessionId, data, delivery, timeCreated }: InboxRecord): InboxItem {
  return { type: kind, id, sessionId, prompt: JSON.parse(data) as Prompt, delivery, timeCreated }
}

/** What the record's id names. */
export function toTakenId(record: InboxRecord): TakenId {
  return { sessionId: record.sessionId, input: { item: toInboxItem(record), digest: record.digest } }
}

export function toWaitingInput(record: InboxRecord): WaitingInput {
  return { seq: record.seq, item: toInboxItem(record), admitter: JSON.parse(record.admitter) as Admitter }
}
