import type { Collection } from 'mongodb'
import { MAX_TIME_MS, type Mongo } from '#shared/stores/mongo.ts'
import type { Collections, HiddenDocument, Keyed, Table } from './collections.ts'
import type { Belonging } from './hidden-sessions.ts'

/** How many documents to delete at once. */
const DOCUMENTS = 200
/** How many parts of messages to delete at once: one message may have thousands. */
const PARTS = 2_000
const LIMIT = { maxTimeMS: MAX_TIME_MS } as const

/** The documents of a session that is being removed: those with its id and a number in this range. */
type Range = Pick<HiddenDocument, 'workspace' | 'sessionId' | 'base' | 'seq'>

/** Deletes some documents of a session; returns how many. */
type Emptier = (mongo: Mongo, collections: Collections, range: Range) => Promise<number>

/**
 * How to delete the documents of a session, except its own. A new collection with documents of sessions has to be added
 * here. A message is deleted after everything that is found through it.
 */
const EMPTIERS: readonly Emptier[] = [
  (_, collections, range) => emptyTable(collections, 'requests', range, { reply: { $gt: 0 } }),
  (mongo, collections, range) => emptyNamed(mongo, collections, 'inbox', range, { state: 'waiting' }),
  (mongo, collections, range) => emptyNamed(mongo, collections, 'inbox', range, { state: 'cancelled' }),
  (mongo, collections, range) => emptyNamed(mongo, collections, 'messages', range, {}),
  (_, collections, range) => emptyTable(collections, 'events', range, {}),
  (_, collections, range) => emptyTable(collections, 'activity', range, {}),
]

/** Deletes some documents of a session; returns whether there may be more. */
export async function emptySession(mongo: Mongo, collections: Collections, range: Range): Promise<boolean> {
  for (const empty of EMPTIERS) if ((await empty(mongo, collections, range)) > 0) return true
  return false
}

/**
 * Deletes some messages or inbox items with what belongs to them, in a transaction, since each of their ids may be used
 * for something else at the same time.
 */
function emptyNamed(
  mongo: Mongo,
  collections: Collections,
  table: 'inbox' | 'messages',
  range: Range,
  filter: object,
): Promise<number> {
  const { messages, parts, inbox, blobUses, blobs } = collections
  const named = collections[table] as unknown as Collection<Keyed<Belonging & { readonly id: string }>>
  return mongo.transact(async (session) => {
    const options = { ...LIMIT, session }
    const own = { ...belongsTo(range), ...filter }
    const documents = await named.find(own, { ...options, projection: { id: 1 }, limit: DOCUMENTS }).toArray()
    if (documents.length === 0) return 0
    const keys = { _id: { $in: documents.map(({ _id }) => _id) }, ...belongsTo(range) }
    const ofThem = { workspace: range.workspace, message: { $in: documents.map(({ id }) => id) } }
    const some = await parts.find(ofThem, { ...options, projection: { _id: 1 }, limit: PARTS }).toArray()
    if (some.length === PARTS) {
      await parts.deleteMany({ _id: { $in: some.map(({ _id }) => _id) } }, options)
      return some.length
    }
    await messages.deleteMany(keys, options)
    await inbox.deleteMany(keys, options)
    await parts.deleteMany(ofThem, options)
    const used = await blobUses.find(ofThem, options).toArray()
    if (used.length > 0) {
      await blobUses.deleteMany(ofThem, options)
      await blobs.updateMany({ _id: { $in: used.map(({ blob }) => blob) } }, { $set: { checkAt: 0 } }, options)
    }
    return documents.length
  })
}

async function emptyTable(collections: Collections, table: Table, range: Range, filter: object): Promise<number> {
  const collection = collections[table] as unknown as Collection<Keyed<Belonging>>
  const own = { ...belongsTo(range), ...filter }
  const documents = await collection.find(own, { ...LIMIT, projection: { _id: 1 }, limit: DOCUMENTS }).toArray()
  if (documents.length === 0) return 0
  await collection.deleteMany({ ...own, _id: { $in: documents.map(({ _id }) => _id) } }, LIMIT)
  return documents.length
}

function belongsTo({ workspace, sessionId, base, seq }: Range) {
  return { workspace, sessionId, seq: { $gt: base, $lte: seq } }
}
