import type { MongoSchema, MongoStepStore } from '#shared/stores/mongo-schema.ts'

/** The steps of what the identity service has in MongoDB. */
export const SCHEMA: MongoSchema = {
  name: 'identity',
  collection: 'identity.api_keys',
  steps: [
    { version: 1, name: 'the first form', up: first },
    { version: 2, name: 'counts of exchanges', up: countsOfExchanges },
  ],
}

async function countsOfExchanges({ db }: MongoStepStore): Promise<void> {
  await db.collection('identity.exchange_counts').createIndex({ timeForgotten: 1 }, { expireAfterSeconds: 0 })
}

async function first({ db }: MongoStepStore): Promise<void> {
  await db.collection('identity.api_keys').createIndexes([
    { key: { hash: 1 }, unique: true },
    { key: { '_id.workspace': 1, seq: 1 }, unique: true },
  ])
}
