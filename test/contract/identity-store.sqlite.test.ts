import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { Organization_Plan as Plan } from '#gen/portico/identity/v1/federation_pb.js'
import { ListAuditEntriesRequest_Kind as Kind } from '#gen/portico/identity/v1/federation_service_pb.js'
import { openSqliteStores } from '#services/identity/adapters/sqlite/stores.ts'
import { systemClock } from '#shared/clock.ts'
import { SqliteJobs } from '#shared/stores/sqlite-jobs.ts'
import { accepted, entryOf } from '#test/support/audit-events.ts'
import { scratchDirectory } from '#test/support/processes.ts'
import { identitySuites } from './identity-store.suites.ts'
import { byAdmin, makeOrganization } from './identity-store.support.ts'

identitySuites(
  'SQLite',
  async () => {
    const directory = await mkdtemp(join(tmpdir(), 'portico-identity-'))
    return {
      open: async (clock) => openSqliteStores(join(directory, 'identity.sqlite'), clock),
      [Symbol.asyncDispose]: () => rm(directory, { recursive: true }),
    }
  },
  { skip: false },
)

test('SQLite itself refuses to change an entry of the audit log, and to remove one that is to be kept', async () => {
  using folder = scratchDirectory()
  const path = join(folder.path, 'identity.sqlite')
  {
    await using stores = openSqliteStores(path, systemClock)
    const { organizationId } = await makeOrganization(stores)
    await stores.organizations.setPlan(organizationId, Plan.FREE, byAdmin(9_000))
    assert.equal(await stores.auditLog.expire(6_000, 1), 1)
  }
  using database = new DatabaseSync(path)
  const count = () => database.prepare('SELECT count(*) AS count FROM audit').get()?.count
  for (const statement of [
    "UPDATE audit SET event = '{}'",
    'UPDATE audit SET time = 0',
    'DELETE FROM audit WHERE time = 9000',
    'REPLACE INTO audit SELECT * FROM audit WHERE time = 9000',
    'UPDATE audit_retention SET keptFrom = 0',
    'DELETE FROM audit_retention',
    'REPLACE INTO audit_retention VALUES (1, 99999)',
  ]) {
    assert.throws(() => database.exec(statement), /the audit log is never changed/, statement)
  }
  assert.equal(count(), 2)
  database.exec('DELETE FROM audit WHERE time = 5000')
  assert.equal(count(), 1)
})

test('SQLite: entries of exchanges that are appended in one turn of the event loop share one commit', async (t) => {
  using folder = scratchDirectory()
  await using stores = openSqliteStores(join(folder.path, 'identity.sqlite'), systemClock)
  const { organizationId } = await makeOrganization(stores)
  const commits = t.mock.method(SqliteJobs.prototype, 'run')
  const use = { issuerId: 'iss_1', timeExpires: Date.now() + 60_000 }
  const entry = entryOf(organizationId, 10_000, accepted)
  const appended = Array.from({ length: 20 }, (_, n) =>
    n % 2 === 0 ? stores.auditLog.append(entry) : stores.auditLog.appendOnce(entry, { ...use, jti: `${n}` }),
  )
  await Promise.all(appended)
  assert.equal(commits.mock.callCount(), 1)
  const { items } = await stores.auditLog.list(organizationId, { kind: Kind.EXCHANGE_ACCEPTED }, undefined, 100)
  assert.equal(items.length, 20)
})

test('SQLite: each search of the audit log goes by an index of what it searches for', async () => {
  using folder = scratchDirectory()
  const path = join(folder.path, 'identity.sqlite')
  await openSqliteStores(path, systemClock)[Symbol.asyncDispose]()
  using database = new DatabaseSync(path)
  const plan = (where: string) => {
    const rows = database
      .prepare(`EXPLAIN QUERY PLAN SELECT position FROM audit WHERE ${where} ORDER BY position DESC LIMIT 9`)
      .all()
    return rows.map(({ detail }) => detail).join('\n')
  }
  const own = "organizationId = 'org'"
  for (const [where, index] of [
    [own, 'PRIMARY KEY'],
    [`${own} AND policyId = 'p'`, 'auditByPolicy'],
    [`${own} AND issuerId = 'i'`, 'auditByIssuer'],
    [`${own} AND kind = ${Kind.CHANGE} AND kind <> ${Kind.EXCHANGE_ACCEPTED} AND 1`, 'auditByKind'],
  ] as const) {
    assert.match(plan(where), new RegExp(`SEARCH .*${index}`), where)
    assert.doesNotMatch(plan(where), /TEMP B-TREE/, where)
  }
})
