import type { MongoSchema, MongoStepStore } from '#shared/stores/mongo-schema.ts'

/** The steps of what the identity service has in MongoDB. */
export const SCHEMA: MongoSchema = {
  name: 'identity',
  collection: 'identity.api_keys',
  steps: [
    { version: 1, name: 'the first form', up: first },
    { version: 2, name: 'counts of exchanges', up: countsOfExchanges },
    { version: 3, name: 'federation', up: federation },
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

async function federation({ db, commit }: MongoStepStore): Promise<void> {
  await db.collection('identity.api_keys').createIndex({ '_id.id': 1 })
  for (const name of ['issuers', 'policies']) {
    await db.collection(`identity.${name}`).createIndex({ organizationId: 1, seq: 1 }, { unique: true })
  }
  const [organization, position] = ['_id.organization', '_id.position']
  await db
    .collection('identity.audit')
    .createIndexes([
      { key: { [organization]: 1, [position]: 1 } },
      { key: { [organization]: 1, time: 1 } },
      { key: { [organization]: 1, policyId: 1, [position]: 1 } },
      { key: { [organization]: 1, issuerId: 1, [position]: 1 } },
      { key: { [organization]: 1, kind: 1, [position]: 1 } },
    ])
  await db.collection('identity.replay_claims').createIndex({ until: 1 }, { expireAfterSeconds: 0 })
  await commit(async (session) => {
    const set = { $set: { plan: 'enterprise', lastPosition: 0 } }
    await db.collection('identity.organizations').updateMany({ plan: { $exists: false } }, set, { session })
  })
}
