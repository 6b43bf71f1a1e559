import type { InboxRecord } from './inbox-record.ts'
import type { MessageRecord, PartRecord } from './message-record.ts'

/** A message in the first form: it contains its parts, and a waiting input is a message without `seq`. */
export interface OldMessage {
  readonly workspace: string
  readonly id: string
  readonly sessionId: string
  readonly seq: number | null
  readonly type: MessageRecord['type']
  /** The prompt of a user's message, and the whole of any other one. */
  readonly data: string
  readonly unfinished: 0 | 1
  /** Of an input: its place in the inbox; the other fields of an input are null with it. */
  readonly admitted: number | null
  readonly delivery: InboxRecord['delivery'] | null
  readonly digest: string | null
  readonly admitter: string | null
  readonly timeCreated: number
  readonly timeDelivered: number | null
}

/** The records that a message of the first form becomes. */
export function splitMessage(old: OldMessage): {
  readonly item?: InboxRecord
  readonly message?: MessageRecord
  readonly parts: readonly PartRecord[]
} {
  const { workspace, id, sessionId, seq, type, unfinished } = old
  const item = itemOf(old)
  if (seq === null) return { ...(item && { item }), parts: [] }
  const timeCreated = old.timeDelivered ?? old.timeCreated
  const named = { workspace, id, sessionId, seq, type, unfinished, timeCreated }
  if (type === 'user') {
    const data = JSON.stringify({ type, id, timeCreated, prompt: JSON.parse(old.data) })
    return { ...(item && { item }), message: { ...named, attempt: 0, data }, parts: [] }
  }
  if (type !== 'assistant') return { message: { ...named, attempt: 0, data: old.data }, parts: [] }
  const { parts, ...data } = JSON.parse(old.data) as { readonly parts: readonly unknown[] }
  return {
    message: { ...named, attempt: 1, data: JSON.stringify(data) },
    parts: parts.map((part, ordinal) => {
      return { workspace, message: id, attempt: 1, ordinal, data: JSON.stringify(part) }
    }),
  }
}

function itemOf(old: OldMessage): InboxRecord | undefined {
  const { workspace, id, sessionId, seq, data, admitted, delivery, digest, admitter, timeCreated, timeDelivered } = old
  if (admitted === null || delivery === null || digest === null || admitter === null) return undefined
  return {
    workspace,
    id,
    sessionId,
    seq: admitted,
    kind: 'prompt',
    state: seq === null ? 'waiting' : 'delivered',
    delivery,
    data,
    digest,
    admitter,
    timeCreated,
    timeSettled: timeDelivered,
  }
}
