import { type AnyBulkWriteOperation, type Document, MongoServerError } from 'mongodb'
import { MAX_TIME_MS } from '#shared/stores/mongo.ts'
import type { MongoStepStore } from '#shared/stores/mongo-schema.ts'
import { hourOf } from '../search-keys.ts'

const BATCH = 500
const INDEX_NOT_FOUND = 27

interface Undated extends Document {
  readonly _id: string
  readonly timeUpdated: number
}

/** Sessions get the hour of their last activity, and the index of grams is in the order of these. */
export async function orderSearches({ db, commit }: MongoStepStore): Promise<void> {
  const sessions = db.collection<Undated>('sessions')
  let operations: AnyBulkWriteOperation<Undated>[] = []
  const write = async (): Promise<void> => {
    if (operations.length === 0) return
    await commit(async (session) => void (await sessions.bulkWrite(operations, { maxTimeMS: MAX_TIME_MS, session })))
    operations = []
  }
  for await (const { _id, timeUpdated } of sessions
    .find({ hour: { $exists: false } } as Document)
    .project<Undated>({ timeUpdated: 1 })) {
    operations.push({ updateOne: { filter: { _id, timeUpdated }, update: { $set: { hour: hourOf(timeUpdated) } } } })
    if (operations.length === BATCH) await write()
  }
  await write()
  await sessions.createIndex({ workspace: 1, grams: 1, hour: 1 }, { name: 'sessionsByGramAndHour' })
  await sessions.dropIndex('sessionsByGram').catch((error: unknown) => {
    // A process that was paused comes late.
    if (!(error instanceof MongoServerError) || error.code !== INDEX_NOT_FOUND) throw error
  })
}
