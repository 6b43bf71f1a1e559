import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import { openSqliteStores } from '#services/identity/adapters/sqlite/stores.ts'
import { systemClock } from '#shared/clock.ts'
import { StoreThreadEnded } from '#shared/stores/disk-problem.ts'
import { accepted } from '#test/support/audit-events.ts'
import { scratchDirectory } from '#test/support/processes.ts'
import { waitFor } from '#test/support/wait-until.ts'
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
    await stores.organizations.setPlan(organizationId, 'free', byAdmin(9_000))
    assert.equal(await stores.auditLog.expire(6_000, 1), 1)
  }
  using database = new DatabaseSync(path)
  const count = () => database.prepare('SELECT count(*) AS count FROM audit_entries').get()?.count
  for (const statement of [
    "UPDATE audit_entries SET event = '{}'",
    'UPDATE audit_entries SET time = 0',
    'DELETE FROM audit_entries WHERE time = 9000',
    'REPLACE INTO audit_entries SELECT * FROM audit_entries WHERE time = 9000',
    'UPDATE audit_retention SET kept_from = 0',
    'DELETE FROM audit_retention',
    'REPLACE INTO audit_retention VALUES (1, 99999)',
  ]) {
    assert.throws(() => database.exec(statement), /the audit log is never changed/, statement)
  }
  assert.equal(count(), 2)
  database.exec('DELETE FROM audit_entries WHERE time = 5000')
  assert.equal(count(), 1)
})

test('SQLite: while the file cannot be written, exchanges wait for their entries, and nothing else does', async (t) => {
  using folder = scratchDirectory()
  const path = join(folder.path, 'identity.sqlite')
  await using stores = openSqliteStores(path, systemClock)
  const { organizationId } = await makeOrganization(stores)
  const append = () => stores.auditLog.append({ organizationId, time: 10_000, event: accepted })
  await append()
  const sent = t.mock.method(Worker.prototype, 'postMessage')
  using database = new DatabaseSync(path)
  database.exec('BEGIN IMMEDIATE')
  let written = 0
  const count = () => {
    written += 1
  }
  const first = [append().then(count), append().then(count)]
  await waitFor('they are on their way', () => sent.mock.callCount() === 1)
  const later = [1, 2, 3].map(() => append().then(count))
  const page = await stores.auditLog.list(organizationId, { kind: 'exchange-accepted' }, undefined, 9)
  assert.deepEqual([page.items.length, written], [1, 0])
  database.exec('COMMIT')
  await Promise.all([...first, ...later])
  assert.equal(sent.mock.callCount(), 2, 'what comes while a commit runs shares the next one')
  const { items } = await stores.auditLog.list(organizationId, { kind: 'exchange-accepted' }, undefined, 9)
  assert.equal(items.length, 6)
})

test('SQLite: an entry whose thread ends before it has answered is refused, and the next one has another thread', async () => {
  const threads: Worker[] = []
  const note = (worker: Worker): unknown => threads.push(worker)
  process.on('worker', note)
  using folder = scratchDirectory()
  const path = join(folder.path, 'identity.sqlite')
  await using stores = openSqliteStores(path, systemClock)
  const { organizationId } = await makeOrganization(stores)
  assert.equal(threads.length, 0, 'a change of an organization needs none')
  const append = () => stores.auditLog.append({ organizationId, time: 10_000, event: accepted })
  await append()
  using database = new DatabaseSync(path)
  database.exec('BEGIN IMMEDIATE')
  const cut = append()
  await nextTurn()
  void threads[0]?.terminate()
  await assert.rejects(cut, StoreThreadEnded)
  database.exec('ROLLBACK')
  await stores.organizations.setPlan(organizationId, 'free', byAdmin(9_000))
  await append()
  process.off('worker', note)
  const { items } = await stores.auditLog.list(organizationId, { kind: 'exchange-accepted' }, undefined, 9)
  assert.deepEqual([threads.length, items.length], [2, 2])
})

test('SQLite: each search of the audit log goes by an index of what it searches for', async () => {
  using folder = scratchDirectory()
  const path = join(folder.path, 'identity.sqlite')
  await openSqliteStores(path, systemClock)[Symbol.asyncDispose]()
  using database = new DatabaseSync(path)
  const plan = (where: string) => {
    const rows = database
      .prepare(`EXPLAIN QUERY PLAN SELECT position FROM audit_entries WHERE ${where} ORDER BY position DESC LIMIT 9`)
      .all()
    return rows.map(({ detail }) => detail).join('\n')
  }
  const own = "organization_id = 'org'"
  for (const [where, index] of [
    [own, 'PRIMARY KEY'],
    [`${own} AND policy_id = 'p'`, 'audit_entries_policy'],
    [`${own} AND issuer_id = 'i'`, 'audit_entries_issuer'],
    [`${own} AND kind = 'changed' AND kind <> 'exchange-accepted' AND 1`, 'audit_entries_kind'],
  ] as const) {
    assert.match(plan(where), new RegExp(`SEARCH .*${index}`), where)
    assert.doesNotMatch(plan(where), /TEMP B-TREE/, where)
  }
})
