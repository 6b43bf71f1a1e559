import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type SQLInputValue, StatementSync } from 'node:sqlite'
import { test } from 'node:test'
import type { Worker } from 'node:worker_threads'
import { GenerationRecord_Status as Status } from '#gen/portico/inference/v1/usage_service_pb.js'
import { SqliteLedger } from '#services/inference/adapters/sqlite/ledger.ts'
import { LedgerFile } from '#services/inference/adapters/sqlite/ledger-file.ts'
import { WORKSPACE } from '#services/inference/adapters/tables/accounts.ts'
import { systemClock } from '#shared/clock.ts'
import { StoreThreadEnded } from '#shared/stores/disk-problem.ts'
import { scratchDirectory } from '#test/support/processes.ts'
import { reasonOfRejection } from '#test/support/reason-of-rejection.ts'
import { closing, ledgerSuite, maxCost, opening } from './ledger.suite.ts'
import { accountsSuite } from './ledger-accounts.suite.ts'

async function makeStore() {
  const directory = await mkdtemp(join(tmpdir(), 'portico-ledger-'))
  return {
    open: SqliteLedger.open.bind(undefined, join(directory, 'inference.sqlite')),
    [Symbol.asyncDispose]: () => rm(directory, { recursive: true }),
  }
}

ledgerSuite('SQLite', makeStore, { skip: false })
accountsSuite('SQLite', makeStore, { skip: false })

test('SQLite: a failed write changes no account and none of the other writes', async () => {
  await using store = await makeStore()
  await using ledger = await store.open(systemClock)
  for (const requestId of ['a', 'b']) await ledger.open({ ...opening, requestId }, maxCost, undefined)
  const outcomes = await Promise.allSettled([
    ledger.close([{ ...closing, requestId: 'a', costNanos: 5n }]),
    ledger.close([{ ...closing, requestId: 'b', costNanos: 2n ** 70n }]),
    ledger.open({ ...opening, requestId: 'c' }, maxCost, undefined),
  ])
  assert.deepEqual(
    outcomes.map(({ status }) => status),
    ['fulfilled', 'rejected', 'fulfilled'],
  )
  const [account] = await ledger.accounts('wrk_1', ['key_1'])
  assert.deepEqual([account?.totalNanos, account?.heldRequests, account?.heldNanos], [5n, 2, 46n])
  assert.equal((await ledger.get('wrk_1', 'b'))?.status, Status.OPEN)
})

test('SQLite: a close that fails while it reads accounts has changed none of them, and counts once when it is tried again', async (t) => {
  using folder = scratchDirectory()
  const path = join(folder.path, 'inference.sqlite')
  const keys = ['key_1', 'key_2']
  {
    await using file = new LedgerFile(path)
    for (const apiKeyId of keys) {
      await file.open({ ...opening, requestId: `of ${apiKeyId}`, apiKeyId }, maxCost, undefined, 1_000)
    }
  }
  await using file = new LedgerFile(path)
  const { get } = StatementSync.prototype
  const reading = t.mock.method(
    StatementSync.prototype,
    'get',
    function (this: StatementSync, ...values: SQLInputValue[]) {
      if (values[1] === 'key_2') throw new Error('disk I/O error')
      return Reflect.apply(get, this, values)
    },
  )
  const closings = keys.map((apiKeyId) => ({ ...closing, requestId: `of ${apiKeyId}`, apiKeyId, costNanos: 5n }))
  const outcomes = await Promise.allSettled([file.close(closings, 1_000), file.probe()])
  assert.deepEqual(
    outcomes.map(({ status }) => status),
    ['rejected', 'fulfilled'],
  )
  reading.mock.restore()
  await file.close(closings, 1_000)
  const accounts = await file.accounts('wrk_1', [...keys, WORKSPACE])
  assert.deepEqual(
    accounts.map(({ totalNanos, heldRequests }) => [totalNanos, heldRequests]),
    [
      [5n, 0],
      [5n, 0],
      [10n, 0],
    ],
  )
  const [sum] = await file.activity({ workspaceId: 'wrk_1', day: 0, keyId: undefined, metadataKey: undefined })
  assert.deepEqual([sum?.requestCount, sum?.costNanos], [2, 10n])
})

test('SQLite: rows are summed by their metadata piece by piece, none twice', async () => {
  await using store = await makeStore()
  await using ledger = await store.open({ now: () => 1_000, monotonic: systemClock.monotonic })
  const ids = Array.from({ length: 900 }, (_, i) => `req_${i}`)
  const metadataOf = (i: number): Record<string, string> => (i % 3 === 0 ? {} : { team: `t${i % 3}` })
  await Promise.all(
    ids.map((requestId, i) => ledger.open({ ...opening, requestId, metadata: metadataOf(i) }, maxCost, undefined)),
  )
  await ledger.close(ids.map((requestId) => ({ ...closing, requestId, costNanos: 2n })))
  const query = { workspaceId: 'wrk_1', day: 0, keyId: 'key_1', metadataKey: 'team' }
  const sums = (await ledger.activity(query)).map((sum) => [sum.metadataValue, sum.requestCount, sum.costNanos])
  assert.deepEqual(
    sums,
    [undefined, 't1', 't2'].map((value) => [value, 300, 600n]),
  )
  assert.deepEqual(await ledger.activity({ ...query, keyId: 'key_2' }), [])
})

test('SQLite: when its thread ends another one goes on; open rows stay open, and writes under way may fail', async () => {
  const threads: Worker[] = []
  const note = (worker: Worker): unknown => threads.push(worker)
  process.on('worker', note)
  await using store = await makeStore()
  await using ledger = await store.open(systemClock)
  for (const requestId of ['req_1', 'uncalled', 'called']) {
    await ledger.open({ ...opening, requestId }, maxCost, undefined)
  }
  const cut = ledger.probe()
  await threads[0]?.terminate()
  await assert.rejects(cut, StoreThreadEnded)
  assert.equal((await ledger.get('wrk_1', 'req_1'))?.status, Status.OPEN)
  await ledger.close([closing])
  ledger.abandon('wrk_1', 'uncalled', false)
  ledger.abandon('wrk_1', 'called', true)
  // A request under a given-up id is settled before the id is used again.
  await assert.rejects(
    ledger.open({ ...opening, requestId: 'uncalled' }, maxCost, undefined),
    reasonOfRejection('REQUEST_DUPLICATE'),
  )
  const rows = await Promise.all(['uncalled', 'called'].map((requestId) => ledger.get('wrk_1', requestId)))
  assert.deepEqual(
    rows.map((row) => [row?.error, row?.costNanos, row?.costKnown]),
    [
      ['PROCESS_LOST', 0n, true],
      ['PROCESS_LOST', 3n, false],
    ],
  )
  const [account] = await ledger.accounts('wrk_1', ['key_1'])
  assert.deepEqual([account?.totalNanos, account?.heldRequests], [closing.costNanos + 3n, 0])
  assert.equal(threads.length, 2)
  process.off('worker', note)
})
