import type { FindOptions } from 'mongodb'
import type { StoredMessage } from '#services/session/domain/message.ts'
import { type MessageQuery, type Page, RECORD_BYTES } from '#services/session/ports/session-lists.ts'
import { MAX_TIME_MS } from '#shared/stores/mongo.ts'
import { fitting, readsForward, type Sized, toPage } from '../common/session-lists.ts'
import { type MessageRecord, type PartRecord, toStoredMessage } from '../tables/messages.ts'
import type { Collections } from './collections.ts'

const LIMIT = { maxTimeMS: MAX_TIME_MS } as const
/** How many messages to measure at first. */
const FIRST = 8

export async function readStored(
  { parts }: Collections,
  records: readonly MessageRecord[],
  options: FindOptions,
): Promise<StoredMessage[]> {
  const steps = records.filter(({ type }) => type === 'assistant')
  const workspace = records[0]?.workspace ?? ''
  const byMessage = new Map<string, PartRecord[]>()
  if (steps.length > 0) {
    const filter = { workspace, message: { $in: steps.map(({ id }) => id) } }
    const sort = { workspace: 1, message: 1, attempt: 1, ordinal: 1 } as const
    for await (const part of parts.find<PartRecord>(filter, { ...options, sort })) {
      const ofMessage = byMessage.get(part.message)
      if (ofMessage === undefined) byMessage.set(part.message, [part])
      else ofMessage.push(part)
    }
  }
  return records.map((record) => toStoredMessage(record, byMessage.get(record.id) ?? []))
}

export async function listMessages(
  collections: Collections,
  workspace: string,
  sessionId: string,
  query: MessageQuery,
  base: number,
): Promise<Page<StoredMessage>> {
  const forward = readsForward(query)
  const start = query.anchor?.seq ?? (forward ? base : Number.MAX_SAFE_INTEGER)
  const sort = { seq: forward ? 1 : -1 } as const
  const filter = (from: number) => ({
    workspace,
    sessionId,
    seq: forward ? { $gt: Math.max(from, base) } : { $gt: base, $lt: from },
    type: query.type as MessageRecord['type'],
  })
  const measure = (from: number, limit: number) =>
    collections.messages.find<Measured>(filter(from), { sort, limit, projection: MEASURED, ...LIMIT }).toArray()
  const most = query.limit + 1
  const { count, all } =
    query.bytes === undefined
      ? { count: most, all: true }
      : await countFitting(collections, workspace, measure, { start, most, bytes: query.bytes })
  const limit = all ? most : count
  const records = await collections.messages.find<MessageRecord>(filter(start), { sort, limit, ...LIMIT }).toArray()
  const { items, more } = toPage(records, query, (record) => record)
  return { items: await readStored(collections, items, LIMIT), more: more || !all }
}

/** What is known about a message before it is read. */
type Measured = Pick<MessageRecord, 'id' | 'seq' | 'type'> & Sized
const MEASURED = { _id: 0, id: 1, seq: 1, type: 1, bytes: { $bsonSize: '$$ROOT' } } as const

/** How many messages fit, with their parts; a few are measured at first, and more while they are small. */
async function countFitting(
  collections: Collections,
  workspace: string,
  measure: (from: number, limit: number) => Promise<Measured[]>,
  { start, most, bytes }: { readonly start: number; readonly most: number; readonly bytes: number },
): Promise<{ readonly count: number; readonly all: boolean }> {
  const sizes: Sized[] = []
  let from = start
  for (let some = FIRST; ; some *= 4) {
    const wanted = Math.min(some, most - sizes.length)
    const more = await measure(from, wanted)
    const parts = await sizesOf(collections, workspace, more)
    for (const { id, bytes } of more) sizes.push({ bytes: bytes + RECORD_BYTES + (parts.get(id) ?? 0) })
    const fits = fitting(sizes, bytes)
    if (!fits.all || more.length < wanted || sizes.length === most) return fits
    from = more.at(-1)?.seq ?? from
  }
}

/** The size of the parts of messages in bytes, by message. */
async function sizesOf(
  { parts }: Collections,
  workspace: string,
  messages: readonly Measured[],
): Promise<ReadonlyMap<string, number>> {
  const steps = messages.filter(({ type }) => type === 'assistant').map(({ id }) => id)
  if (steps.length === 0) return new Map()
  const bytes = { $sum: { $add: [{ $bsonSize: '$$ROOT' }, RECORD_BYTES] } }
  const pipeline = [{ $match: { workspace, message: { $in: steps } } }, { $group: { _id: '$message', bytes } }]
  const sizes = await parts.aggregate<Sized & { readonly _id: string }>(pipeline, LIMIT).toArray()
  return new Map(sizes.map(({ _id, bytes }) => [_id, bytes]))
}
