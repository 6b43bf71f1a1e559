import type { AnyBulkWriteOperation, Document } from 'mongodb'
import { foldCase } from '#services/session/adapters/common/fold-case.ts'
import { withGrams } from '#services/session/adapters/common/grams.ts'
import { MAX_TIME_MS } from '#shared/stores/mongo.ts'
import type { MongoStepStore } from '#shared/stores/mongo-schema.ts'

const BATCH = 500

interface Titled extends Document {
  readonly _id: string
  readonly title: string
  readonly titleSearch: string
}

/** Titles were only compared in lower case. ASCII has no other case. */
export async function foldTitles({ db, commit }: MongoStepStore): Promise<void> {
  const sessions = db.collection<Titled>('sessions')
  let operations: AnyBulkWriteOperation<Titled>[] = []
  const write = async (): Promise<void> => {
    if (operations.length === 0) return
    await commit(async (session) => void (await sessions.bulkWrite(operations, { maxTimeMS: MAX_TIME_MS, session })))
    operations = []
  }
  const titled = sessions.find({ title: /[^\0-\x7f]/ } as Document).project<Titled>({ title: 1, titleSearch: 1 })
  for await (const { _id, title, titleSearch } of titled) {
    const folded = foldCase(title)
    if (folded === titleSearch) continue
    operations.push({ updateOne: { filter: { _id, title }, update: { $set: withGrams({ titleSearch: folded }) } } })
    if (operations.length === BATCH) await write()
  }
  await write()
}
