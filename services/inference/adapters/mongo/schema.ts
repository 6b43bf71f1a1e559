import type { Db } from 'mongodb'
import type { MongoSchema } from '#shared/stores/mongo-schema.ts'

/** The steps of what the inference service has in MongoDB. */
export const SCHEMA: MongoSchema = {
  name: 'inference',
  collection: 'inference_ledger',
  steps: [{ version: 1, name: 'the first form', up: first }],
}

async function first(db: Db): Promise<void> {
  await db
    .collection('inference_ledger')
    .createIndexes([
      { key: { workspace: 1, startedAt: 1 } },
      { key: { startedAt: 1 }, partialFilterExpression: { status: 'open' } },
    ])
}
