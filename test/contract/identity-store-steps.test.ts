import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SCHEMA } from '#services/identity/adapters/mongo/schema.ts'
import { openMongoStores } from '#services/identity/adapters/mongo/stores.ts'
import { STEPS } from '#services/identity/adapters/sqlite/schema.ts'
import { openSqliteStores } from '#services/identity/adapters/sqlite/stores.ts'
import type { AuditFilter } from '#services/identity/ports/audit-log.ts'
import type { Stores } from '#services/identity/ports/stores.ts'
import { systemClock } from '#shared/clock.ts'
import { openMongo } from '#shared/stores/mongo.ts'
import { migrateMongo } from '#shared/stores/mongo-schema.ts'
import { migrateSqlite } from '#shared/stores/sqlite-schema.ts'
import { accepted } from '#test/support/audit-events.ts'
import { freshDatabaseName, mongoUri, skipWithoutMongo } from '#test/support/mongo.ts'
import { layOutCollections, layOutIdentity } from '#test/support/older-stores.ts'
import { scratchDirectory } from '#test/support/processes.ts'

/** The content of the fixtures. */
const organizationId = 'org_fixture0000000000000001'
const keyId = 'key_fixture0000000000000002'
const ISSUER = 'iss_fixture1'
const [KEPT, DELETED] = ['11111111-1111-4111-8111-111111111111', '22222222-2222-4222-8222-222222222222']

async function requireAll({ auditLog, federation }: Stores): Promise<void> {
  const timesOf = async (filter: AuditFilter) => {
    const { items } = await auditLog.list(organizationId, filter, undefined, 100)
    return items.map(({ entry }) => entry.time)
  }
  assert.deepEqual(
    await timesOf({}),
    [3_002, 3_001, 3_000, 2_002, 2_001, 2_000, 1_003, 1_003, 1_002, 1_001, 1_000, 1_000],
  )
  assert.deepEqual(await timesOf({ keyId }), [3_000, 2_000, 1_001], 'changed, exchanged, created')
  assert.deepEqual(await timesOf({ reason: 'audience' }), [2_001])
  assert.deepEqual(await timesOf({ reason: 'subject' }), [2_002])
  assert.deepEqual(await timesOf({ subject: 'repo:acme/app' }), [2_000])
  const deleted = { deleted: true, organizationId, issuerId: ISSUER, target: undefined }
  assert.deepEqual(await federation.findPolicy(DELETED ?? ''), deleted)
  const kept = await federation.findPolicy(KEPT ?? '')
  assert.ok(kept !== undefined && 'policy' in kept)
  assert.equal(kept.policy.name, 'another name')
  const entry = { organizationId, time: 4_000, event: { ...accepted, subject: 'repo:acme/app' } }
  const timeExpires = 4_000_000_000_000
  assert.equal(await auditLog.appendOnce(entry, { issuerId: ISSUER, jti: 'used', timeExpires }), false)
  assert.equal(await auditLog.appendOnce(entry, { issuerId: ISSUER, jti: 'new', timeExpires }), true)
  assert.deepEqual(await timesOf({ subject: 'repo:acme/app' }), [4_000, 2_000])
}

test('SQLite: entries of the form before are found by key, reason and subject, and stay as they are', async () => {
  using folder = scratchDirectory()
  const path = layOutIdentity('sqlite-identity-5', folder.path)
  const lines: string[] = []
  for (let i = 0; i < 2; i++) migrateSqlite({ path, steps: STEPS }, false, (line) => lines.push(line))
  assert.equal(lines.length, 1)
  await using stores = openSqliteStores(path, systemClock)
  await requireAll(stores)
})

test('MongoDB: likewise, without writing to the log, which may be forbidden', { skip: skipWithoutMongo }, async () => {
  await using mongo = await openMongo({ uri: mongoUri() ?? '', database: freshDatabaseName() })
  try {
    await layOutCollections('mongodb-identity-4', mongo)
    const audit = () => mongo.db.collection('identity.audit').find().toArray()
    const before = await audit()
    for (let i = 0; i < 2; i++) await migrateMongo(mongo, SCHEMA, () => {})
    assert.deepEqual(await audit(), before)
    await using stores = await openMongoStores(mongo)
    await requireAll(stores)
  } finally {
    await mongo.db.dropDatabase()
  }
})
