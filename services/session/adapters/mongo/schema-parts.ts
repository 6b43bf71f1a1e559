import type { AnyBulkWriteOperation, Db, Document } from 'mongodb'
import { MAX_TIME_MS } from '#shared/stores/mongo.ts'
import { type OldMessage, splitMessage } from '../common/split-message.ts'
import { keyOf, partKey } from './collections.ts'

interface Keyed extends Document {
  readonly _id: string
}

const LIMIT = { maxTimeMS: MAX_TIME_MS } as const

/** Inbox items and the parts of messages get documents of their own; one that was split has an `attempt`. */
export async function splitMessages(db: Db): Promise<void> {
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
    if (item !== undefined) await put(db, 'inbox', [{ _id: keyOf(item.workspace, item.id), ...item }])
    await put(
      db,
      'parts',
      parts.map((part) => ({ _id: partKey(part), ...part })),
    )
    // Last: what was split without that is split once more.
    if (message === undefined) await messages.deleteOne({ _id: old._id }, LIMIT)
    else await put(db, 'messages', [{ _id: old._id, ...message }])
  }
  await messages.dropIndex('messagesWaiting').catch(() => {})
}

/** Writes documents, or writes them again. */
async function put(db: Db, name: string, documents: readonly Keyed[]): Promise<void> {
  if (documents.length === 0) return
  const operations: AnyBulkWriteOperation<Keyed>[] = documents.map((replacement) => {
    return { replaceOne: { filter: { _id: replacement._id }, replacement, upsert: true } }
  })
  await db.collection<Keyed>(name).bulkWrite(operations, LIMIT)
}
