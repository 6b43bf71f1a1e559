import assert from 'node:assert/strict'
import { test } from 'node:test'
import { MongoServerError } from 'mongodb'
import { collectionsOf } from '#services/identity/adapters/mongo/documents.ts'
import { openMongoStores } from '#services/identity/adapters/mongo/stores.ts'
import type { Mongo } from '#shared/stores/mongo.ts'
import { accepted, entryOf, refused } from '#test/support/audit-events.ts'
import { sharedDatabase, skipWithoutMongo } from '#test/support/mongo.ts'
import { identitySuites } from './identity-store.suites.ts'
import { byAdmin, issuerSettings, makeOrganization, newBootstrap } from './identity-store.support.ts'

const emptied = sharedDatabase()

identitySuites(
  'MongoDB',
  async () => {
    const mongo = await emptied()
    return {
      open: () => openMongoStores(mongo),
      async [Symbol.asyncDispose]() {},
    }
  },
  { skip: skipWithoutMongo },
)

test('MongoDB: entries of exchanges are appended while a change is under way, or its process was killed', {
  skip: skipWithoutMongo,
}, async () => {
  const mongo = await emptied()
  const stores = await openMongoStores(mongo)
  const { organizationId } = await makeOrganization(stores)
  const { federation, auditLog } = stores
  const [locked, over] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const holder = mongo.transact(async (session) => {
    await collectionsOf(mongo.db).changeLocks.updateOne({ _id: organizationId }, { $inc: { changes: 1 } }, { session })
    locked.resolve()
    await over.promise
  })
  await locked.promise
  let changed = false
  const change = federation
    .createIssuer(organizationId, 'iss_1', () => issuerSettings(), byAdmin())
    .then(() => {
      changed = true
    })
  await auditLog.append(entryOf(organizationId, 9_000, refused))
  assert.equal(changed, false)
  over.resolve()
  await Promise.all([holder, change])
})

test('MongoDB: claims of tokens end by its own clock a day after their time', { skip: skipWithoutMongo }, async () => {
  const mongo = await emptied()
  const stores = await openMongoStores(mongo)
  const { organizationId } = await makeOrganization(stores)
  const timeExpires = Date.now() + 60_000
  const entry = entryOf(organizationId, 9_000, accepted)
  await stores.auditLog.appendOnce(entry, { issuerId: 'iss_1', jti: 'one', timeExpires })
  const claims = collectionsOf(mongo.db).replayClaims
  const [ends] = (await claims.indexes()).filter(({ expireAfterSeconds }) => expireAfterSeconds === 0)
  assert.deepEqual(ends?.key, { until: 1 })
  assert.equal((await claims.findOne())?.until.getTime(), timeExpires + 86_400_000 + 120_000)
})

test('MongoDB: changes of an organization take turns: of many at once none is refused', {
  skip: skipWithoutMongo,
}, async () => {
  const mongo = await emptied()
  const stores = await openMongoStores(mongo)
  const { organizationId } = await makeOrganization(stores)
  const ids = Array.from({ length: 150 }, (_, n) => `iss_${n}`)
  const create = (id: string) => stores.federation.createIssuer(organizationId, id, () => issuerSettings(), byAdmin())
  assert.deepEqual(
    (await Promise.all(ids.map(create))).map(({ issuerId }) => issuerId),
    ids,
  )
  const { items } = await stores.federation.listIssuers(organizationId, { offset: 0, limit: 150 })
  assert.deepEqual(
    items.map(({ issuerId }) => issuerId),
    ids,
  )
})

test('MongoDB: entries of exchanges that are appended at once go as one unordered bulk, which the majority has', {
  skip: skipWithoutMongo,
}, async () => {
  const mongo = await emptied()
  const { auditLog, ...stores } = await openMongoStores(mongo)
  const { organizationId } = await makeOrganization({ auditLog, ...stores })
  await mongo.db.command({ profile: 2 })
  const entry = entryOf(organizationId, 9_000, refused)
  await Promise.all(Array.from({ length: 50 }, () => auditLog.append(entry)))
  await mongo.db.command({ profile: 0 })
  const namespace = collectionsOf(mongo.db).audit.namespace
  const bulks = await mongo.db.collection('system.profile').find({ op: 'insert', ns: namespace }).toArray()
  assert.ok(bulks.length <= 2, `${bulks.length}`)
  for (const { command } of bulks) assert.deepEqual([command.ordered, command.writeConcern.w], [false, 'majority'])
})

test('MongoDB: a bootstrap that meets a duplicate of a faster process returns its records', {
  skip: skipWithoutMongo,
}, async () => {
  const mongo = await emptied()
  const { identity: other } = await openMongoStores(mongo)
  let transactions = 0
  const late: Mongo = Object.assign(Object.create(mongo), {
    transact: async (...work: Parameters<Mongo['transact']>) => {
      if (transactions++ === 0) await other.bootstrap(newBootstrap())
      else return mongo.transact(...work)
      throw new MongoServerError({ message: 'duplicate key', code: 11_000 })
    },
  })
  const { identity } = await openMongoStores(late)
  const { first, organizationId } = await identity.bootstrap(newBootstrap())
  assert.deepEqual([first, organizationId], [false, (await other.bootstrap(newBootstrap())).organizationId])
})
