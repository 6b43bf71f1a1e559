import type { StoredMessage } from '#services/session/domain/message.ts'
import type { PermissionRequest } from '#services/session/domain/permission/permission.ts'
import { type MessageQuery, type Page, RECORD_BYTES } from '#services/session/ports/session-lists.ts'
import { MAX_TIME_MS } from '#shared/stores/mongo.ts'
import type { MessageRecord } from '../common/message-record.ts'
import { toRequest } from '../common/records.ts'
import { fitting, readsForward, type Sized, toPage } from '../common/session-lists.ts'
import type { Collections } from './collections.ts'
import { readStored } from './message-documents.ts'

const LIMIT = { maxTimeMS: MAX_TIME_MS } as const
/** So many messages are measured at first. */
const FIRST = 16

export async function listMessages(
  collections: Collections,
  workspace: string,
  sessionId: string,
  query: MessageQuery,
  base: number,
): Promise<Page<StoredMessage>> {
  const forward = readsForward(query)
  const from = query.anchor?.seq ?? (forward ? base : Number.MAX_SAFE_INTEGER)
  const read = (from: number, limit: number): Promise<MessageRecord[]> => {
    const filter = {
      ...{ workspace, sessionId, seq: forward ? { $gt: Math.max(from, base) } : { $gt: base, $lt: from } },
      ...(query.type === undefined ? {} : { type: query.type as MessageRecord['type'] }),
    }
    return collections.messages.find(filter, { sort: { seq: forward ? 1 : -1 }, limit, ...LIMIT }).toArray()
  }
  const { records, all } =
    query.bytes === undefined
      ? { records: await read(from, query.limit + 1), all: true }
      : await readFitting(collections, (after, limit) => read(after?.seq ?? from, limit), query.limit + 1, query.bytes)
  const { items, more } = toPage(records, query, (record) => record)
  return { items: await readStored(collections, items, LIMIT), more: more || !all }
}

/** Reads messages until they have so many bytes with their parts: first a few, and more while they are small. */
async function readFitting(
  collections: Collections,
  read: (after: MessageRecord | undefined, limit: number) => Promise<MessageRecord[]>,
  limit: number,
  bytes: number,
): Promise<{ readonly records: readonly MessageRecord[]; readonly all: boolean }> {
  const records: MessageRecord[] = []
  const sizes: Sized[] = []
  for (let some = FIRST; ; some *= 4) {
    const wanted = Math.min(some, limit - records.length)
    const found = await read(records.at(-1), wanted)
    const parts = await sizesOf(collections, found)
    records.push(...found)
    for (const { id, data } of found) {
      sizes.push({ bytes: Buffer.byteLength(data) + RECORD_BYTES + (parts.get(id) ?? 0) })
    }
    const { count, all } = fitting(sizes, bytes)
    if (!all) return { records: records.slice(0, count), all }
    if (found.length < wanted || records.length === limit) return { records, all }
  }
}

/** What the parts of messages have, in bytes, by message. */
async function sizesOf({ parts }: Collections, records: readonly MessageRecord[]): Promise<Map<string, number>> {
  const steps = records.filter(({ type }) => type === 'assistant')
  if (steps.length === 0) return new Map()
  const $match = { workspace: steps[0]?.workspace, message: { $in: steps.map(({ id }) => id) } }
  const bytes = { $sum: { $add: [{ $bsonSize: '$$ROOT' }, RECORD_BYTES] } }
  const found = parts.aggregate<Sized & { readonly _id: string }>(
    [{ $match }, { $group: { _id: '$message', bytes } }],
    LIMIT,
  )
  return new Map((await found.toArray()).map(({ _id, bytes }) => [_id, bytes]))
}

export async function listPermissionRequests(
  { requests }: Collections,
  workspace: string,
  sessionId: string | undefined,
  now: number,
): Promise<PermissionRequest[]> {
  const cursor = requests.find(
    { workspace, reply: null, timeExpires: { $gt: now }, ...(sessionId === undefined ? {} : { sessionId }) },
    { sort: sessionId === undefined ? { timeCreated: 1, seq: 1 } : { seq: 1 }, limit: 1_000, maxTimeMS: MAX_TIME_MS },
  )
  return (await cursor.toArray()).map(toRequest)
}
