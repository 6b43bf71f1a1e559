import type { AnyBulkWriteOperation, Document } from 'mongodb'
import { withGrams } from '#services/session/adapters/common/grams.ts'
import { MAX_TIME_MS } from '#shared/stores/mongo.ts'
import type { MongoStepStore } from '#shared/stores/mongo-schema.ts'

const BATCH = 500

interface Titled extends Document {
  readonly _id: string
  readonly titleSearch: string
}

/** Adds an index for the filter by subpath, and one of the grams of titles for searches. */
export async function indexLists({ db, commit }: MongoStepStore): Promise<void> {
  const sessions = db.collection<Titled>('sessions')
  await sessions.createIndexes([
    { name: 'sessionsBySubpath', key: { workspace: 1, projectId: 1, subpath: 1, timeUpdated: 1, id: 1 } },
    { name: 'sessionsByGram', key: { workspace: 1, grams: 1 } },
  ])
  let operations: AnyBulkWriteOperation<Titled>[] = []
  const write = async (): Promise<void> => {
    if (operations.length === 0) return
    await commit(async (session) => void (await sessions.bulkWrite(operations, { maxTimeMS: MAX_TIME_MS, session })))
    operations = []
  }
  const old = sessions.find({ titleSearch: { $type: 'string' }, grams: { $exists: false } } as Document)
  for await (const { _id, titleSearch } of old.project<Titled>({ titleSearch: 1 })) {
    operations.push({ updateOne: { filter: { _id }, update: { $set: withGrams({ titleSearch }) } } })
    if (operations.length === BATCH) await write()
  }
  await write()
}
