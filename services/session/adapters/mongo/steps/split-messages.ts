import type { AnyBulkWriteOperation, ClientSession, Db, Document } from 'mongodb'
import { type OldMessage, splitMessage } from '#services/session/adapters/common/split-message.ts'
import { MAX_TIME_MS } from '#shared/stores/mongo.ts'
import type { MongoStepStore } from '#shared/stores/mongo-schema.ts'
import { keyOf, partKey } from '../collections.ts'

interface Keyed extends Document {
  readonly _id: string
}

const LIMIT = { maxTimeMS: MAX_TIME_MS } as const

/** Inbox items and the parts of messages get documents of their own; one that was split has an `attempt`. */
export async function splitMessages({ db, commit }: MongoStepStore): Promise<void> {
  await db
    .collection('inbox')
    .createIndex(
      { workspace: 1, sessionId: 1, delivery: 1, seq: 1 },
      { name: 'inboxWaiting', partialFilterExpression: { state: 'waiting' } },
    )
  await db
    .collection('parts')
    .createIndex({ workspace: 1, message: 1, attempt: 1, ordinal: 1 }, { name: 'partsByMessage', unique: true })
  const messages = db.collection<Keyed & OldMessage>('messages')
  for await (const old of messages.find({ attempt: { $exists: false } })) {
    const { item, message, parts } = splitMessage(old)
    const own = { _id: old._id }
    const items = item === undefined ? [] : [{ _id: keyOf(item.workspace, item.id), ...item }]
    const keyed = parts.map((part) => ({ _id: partKey(part), ...part }))
    await commit(async (session) => {
      await put(db, 'inbox', items, session)
      await put(db, 'parts', keyed, session)
      if (message === undefined) await messages.deleteOne(own, { ...LIMIT, session })
      else await put(db, 'messages', [{ ...own, ...message }], session)
    })
  }
  await messages.dropIndex('messagesWaiting').catch(() => {})
}

/** Writes documents, or writes them again where a process was killed that did so without a transaction. */
async function put(db: Db, name: string, documents: readonly Keyed[], session: ClientSession): Promise<void> {
  if (documents.length === 0) return
  const operations: AnyBulkWriteOperation<Keyed>[] = documents.map((replacement) => {
    return { replaceOne: { filter: { _id: replacement._id }, replacement, upsert: true } }
  })
  await db.collection<Keyed>(name).bulkWrite(operations, { ...LIMIT, session })
}
