import type { StoredMessage } from '#services/session/domain/message.ts'
import type { PermissionRequest } from '#services/session/domain/permission/permission.ts'
import { type MessageQuery, type Page, RECORD_BYTES } from '#services/session/ports/session-lists.ts'
import { MAX_TIME_MS } from '#shared/stores/mongo.ts'
import { fitting, readsForward, type Sized, toPage } from '../common/session-lists.ts'
import type { MessageRecord } from '../tables/messages.ts'
import { toRequests } from '../tables/permissions.ts'
import { type Collections, keyOf } from './collections.ts'
import { readStored } from './message-documents.ts'

const LIMIT = { maxTimeMS: MAX_TIME_MS } as const
/** How many messages to measure at first. */
const FIRST = 8

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
    ...(query.type === undefined ? {} : { type: query.type as MessageRecord['type'] }),
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
    const found = await measure(from, wanted)
    const parts = await sizesOf(collections, workspace, found)
    for (const { id, bytes } of found) sizes.push({ bytes: bytes + RECORD_BYTES + (parts.get(id) ?? 0) })
    const fits = fitting(sizes, bytes)
    if (!fits.all || found.length < wanted || sizes.length === most) return fits
    from = found.at(-1)?.seq ?? from
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
  const found = await parts.aggregate<Sized & { readonly _id: string }>(pipeline, LIMIT).toArray()
  return new Map(found.map(({ _id, bytes }) => [_id, bytes]))
}

/** See SessionLists. */
export async function sessionOfRequest(
  { requests }: Collections,
  workspace: string,
  id: string,
  now: number,
): Promise<string | undefined> {
  const waiting = { _id: keyOf(workspace, id), reply: null, timeExpires: { $gt: now } }
  return (await requests.findOne(waiting, { projection: { sessionId: 1 }, maxTimeMS: MAX_TIME_MS }))?.sessionId
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
  return toRequests(await cursor.toArray())
}

/** How many of the waiting requests are read at once. */
const BATCH = 256

/** See SessionLists.waitingRequests. */
export async function* waitingRequests(
  { requests }: Collections,
  workspace: string,
  now: number,
): AsyncGenerator<readonly PermissionRequest[]> {
  const waiting = { workspace, reply: null, timeExpires: { $gt: now } }
  const options = { sort: { timeCreated: 1, seq: 1 }, batchSize: BATCH, maxTimeMS: MAX_TIME_MS } as const
  await using cursor = requests.find(waiting, options)
  while (await cursor.hasNext()) yield toRequests(cursor.readBufferedDocuments())
}
