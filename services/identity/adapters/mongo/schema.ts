import type { MongoSchema, MongoStepStore } from '#shared/stores/mongo-schema.ts'
import type { AuditDocument } from './documents.ts'

/** The schema steps of the identity service in MongoDB. */
export const SCHEMA: MongoSchema = {
  name: 'identity',
  collection: 'identity.api_keys',
  steps: [
    { version: 1, name: 'the first schema', up: first },
    { version: 2, name: 'counts of exchanges', up: countsOfExchanges },
    { version: 3, name: 'federation', up: federation },
    { version: 4, name: 'terms of keys', up: termsOfKeys },
    { version: 5, name: 'filters of the audit log', up: auditFilters },
  ],
}

async function countsOfExchanges({ db }: MongoStepStore): Promise<void> {
  await db.collection('identity.exchange_counts').createIndex({ timeForgotten: 1 }, { expireAfterSeconds: 0 })
}

async function termsOfKeys({ db }: MongoStepStore): Promise<void> {
  const none = { terms: null, creatorKeyId: null, timeUpdated: '$timeCreated', workspaceLimitNanos: null }
  await db.collection('identity.api_keys').updateMany({ timeUpdated: { $exists: false } }, [{ $set: none }])
  await db
    .collection('identity.workspaces')
    .updateMany({ limitNanos: { $exists: false } }, { $set: { limitNanos: null } })
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
  const organization = '_id.organization'
  const position = '_id.position'
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
    const organizations = db.collection<{ readonly _id: string }>('identity.organizations')
    const positions = db.collection<{ readonly _id: string; readonly last: number }>('identity.audit_positions')
    const locks = db.collection<{ readonly _id: string; readonly changes: number }>('identity.change_locks')
    const older = { plan: { $exists: false } }
    const ids = await organizations.find(older, { session, projection: { _id: 1 } }).toArray()
    for (const { _id } of ids) {
      await positions.insertOne({ _id, last: 0 }, { session })
      await locks.insertOne({ _id, changes: 0 }, { session })
    }
    await organizations.updateMany(older, { $set: { plan: 'enterprise' } }, { session })
  })
}

/**
 * Adds the members by which entries are found, and what is known about deleted policies. It rewrites no entry, since
 * the server's user may lack the right to.
 */
async function auditFilters({ db, commit }: MongoStepStore): Promise<void> {
  const audit = db.collection<AuditDocument>('identity.audit')
  for (const name of ['event.reason', 'event.subject', 'event.target.keyId', 'event.resourceId']) {
    const partialFilterExpression = { [name]: { $exists: true } }
    await audit.createIndex({ '_id.organization': 1, [name]: 1, '_id.position': 1 }, { partialFilterExpression })
  }
  const deletions = audit.find({ kind: 'changed', 'event.resource': 'policy', 'event.after': null })
  for await (const { _id, time, event } of deletions) {
    if (event.type !== 'changed') continue
    const { resourceId, before } = event
    const policy = { organizationId: _id.organization, issuerId: before?.issuer_id, time }
    await commit(async (session) => {
      const policies = db.collection<{ readonly _id: string }>('identity.deleted_policies')
      await policies.replaceOne({ _id: resourceId }, policy, { upsert: true, session })
    })
  }
}
