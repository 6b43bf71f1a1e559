import type { AnyBulkWriteOperation } from 'mongodb'
import { MAX_TIME_MS } from '#shared/stores/mongo.ts'
import type { MongoStepStore } from '#shared/stores/mongo-schema.ts'
import { blobUses } from '../blobs/blob-uses.ts'
import type { BlobUse } from '../collections.ts'

const BATCH = 500

/** What uses a blob gets a document that says so; existing uses are collected once. */
export async function countBlobs({ db }: MongoStepStore): Promise<void> {
  const uses = db.collection<BlobUse>('blobUses')
  await uses.createIndexes([
    { name: 'blobUsesByMessage', key: { workspace: 1, message: 1 } },
    { name: 'blobUsesByBlob', key: { blob: 1 } },
  ])
  await db.collection('blobs').createIndex({ checkAt: 1 }, { name: 'blobsToCheck', sparse: true })
  let operations: AnyBulkWriteOperation<BlobUse>[] = []
  const write = async (): Promise<void> => {
    if (operations.length > 0) await uses.bulkWrite(operations, { ordered: false, maxTimeMS: MAX_TIME_MS })
    operations = []
  }
  for (const [name, message] of [
    ['inbox', 'id'],
    ['messages', 'id'],
    ['parts', 'message'],
  ] as const) {
    const found = db.collection<Referring>(name).find({ data: /"blob":\{"hash":"/ })
    for await (const document of found) {
      for (const replacement of blobUses(document.workspace, document[message], document.data)) {
        operations.push({ replaceOne: { filter: { _id: replacement._id }, replacement, upsert: true } })
      }
      if (operations.length >= BATCH) await write()
    }
  }
  await write()
}

interface Referring {
  readonly workspace: string
  readonly id: string
  readonly message: string
  readonly data: string
}
