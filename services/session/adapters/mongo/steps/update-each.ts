import type { AnyBulkWriteOperation, Collection, Document } from 'mongodb'
import { MAX_TIME_MS } from '#shared/stores/mongo.ts'
import type { MongoStepStore } from '#shared/stores/mongo-schema.ts'

const BATCH = 500

/** An update of one document. */
interface Update<D> {
  readonly filter: Partial<D>
  readonly $set: object
  readonly $unset?: object
}

/** Updates documents of a collection, some in each transaction; those without an update stay as they are. */
export async function updateEach<D extends Document>(
  { commit }: Pick<MongoStepStore, 'commit'>,
  collection: Collection<D>,
  found: AsyncIterable<D>,
  updateOf: (document: D) => Update<D> | undefined,
): Promise<void> {
  let operations: AnyBulkWriteOperation<Document>[] = []
  const write = async (): Promise<void> => {
    if (operations.length === 0) return
    const documents = collection as unknown as Collection
    await commit(async (session) => void (await documents.bulkWrite(operations, { maxTimeMS: MAX_TIME_MS, session })))
    operations = []
  }
  for await (const document of found) {
    const updated = updateOf(document)
    if (updated === undefined) continue
    const { filter, ...update } = updated
    operations.push({ updateOne: { filter, update } })
    if (operations.length === BATCH) await write()
  }
  await write()
}
