import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Collection } from 'mongodb'
import { GenerationRecord_Status as Status } from '#gen/portico/inference/v1/usage_service_pb.js'
import { MongoLedger } from '#services/inference/adapters/mongo/ledger.ts'
import { type Clock, systemClock } from '#shared/clock.ts'
import { sharedDatabase, skipWithoutMongo } from '#test/support/mongo.ts'
import { reasonOfRejection } from '#test/support/reason-of-rejection.ts'
import { closing, ledgerSuite, maxCost, opening } from './ledger.suite.ts'
import { accountsSuite, NO_TERMS } from './ledger-accounts.suite.ts'

const emptied = sharedDatabase()

async function makeStore() {
  const mongo = await emptied()
  return {
    open: (clock: Clock) => MongoLedger.open(mongo, clock),
    async expireLeases(): Promise<void> {
      await mongo.db.collection('inference_leases').updateMany({}, { $set: { expireTime: 0n } })
    },
    async forgetHolds(): Promise<void> {
      const nothing = { holds: [], heldRequests: 0, heldNanos: 0n, revision: 99 }
      await mongo.db.collection('inference_accounts').updateMany({}, { $set: nothing })
    },
    async [Symbol.asyncDispose]() {},
  }
}

ledgerSuite('MongoDB', makeStore, { skip: skipWithoutMongo })
accountsSuite('MongoDB', makeStore, { skip: skipWithoutMongo })

test('MongoDB: a row whose request was given up is settled, whether it was opened before or is opened late', {
  skip: skipWithoutMongo,
}, async () => {
  await using store = await makeStore()
  await using ledger = await store.open(systemClock)
  await ledger.open(opening, maxCost, undefined)
  ledger.abandon('wrk_1', 'req_1', false)
  const late = ledger.open({ ...opening, requestId: 'req_2' }, maxCost, undefined)
  ledger.abandon('wrk_1', 'req_2', false)
  await assert.rejects(late, reasonOfRejection('STORE_UNAVAILABLE'))
  await ledger.settle()
  const given = await ledger.get('wrk_1', 'req_1')
  assert.deepEqual([given?.error, given?.costNanos, given?.costKnown], ['PROCESS_LOST', 0n, true])
  assert.equal(await ledger.get('wrk_1', 'req_2'), undefined)
  for (const account of [...(await ledger.accounts('wrk_1', ['key_1'])), await ledger.workspaceAccount('wrk_1')]) {
    assert.deepEqual([account.heldRequests, account.heldNanos, account.minuteRequests], [0, 0n, 1])
  }
})

test('MongoDB: a refused request is admitted once another process has ended the requests before it', {
  skip: skipWithoutMongo,
}, async () => {
  await using store = await makeStore()
  await using one = await store.open(systemClock)
  await using other = await store.open(systemClock)
  const terms = { ...NO_TERMS, concurrentRequests: 1 }
  const ask = async (ledger: MongoLedger, requestId: string) =>
    (await ledger.open({ ...opening, requestId }, maxCost, terms)).admitted
  assert.equal(await ask(one, 'req_1'), true)
  await one.close([{ ...closing, requestId: 'req_1' }])
  assert.equal(await ask(other, 'req_2'), true)
  assert.equal(await ask(one, 'req_3'), false)
  await other.close([{ ...closing, requestId: 'req_2' }])
  assert.equal(await ask(one, 'req_4'), true)
})

test('MongoDB: a row that is opened after its reservation was settled is closed, and costs nothing', {
  skip: skipWithoutMongo,
}, async () => {
  await using store = await makeStore()
  const clock = { time: 0, now: () => Date.now(), monotonic: () => clock.time }
  await using ledger = await store.open(clock)
  // It was paused, so the others may have taken it for dead and found no row.
  clock.time += 9_000
  await assert.rejects(ledger.open(opening, maxCost, undefined), reasonOfRejection('STORE_UNAVAILABLE'))
  await store.forgetHolds()
  await ledger.settle()
  const row = await ledger.get('wrk_1', 'req_1')
  assert.deepEqual([row?.status, row?.costNanos, row?.costKnown], [Status.ABORTED, 0n, true])
  await ledger.open({ ...opening, requestId: 'req_2' }, maxCost, undefined)
})

test('MongoDB: a new process counts others as dead only if they left, not if their lease may have expired in an outage', {
  skip: skipWithoutMongo,
}, async () => {
  await using store = await makeStore()
  await using other = await store.open(systemClock)
  await other.open(opening, maxCost, undefined)
  {
    await using leaving = await store.open(systemClock)
    await leaving.open({ ...opening, requestId: 'req_2' }, maxCost, undefined)
  }
  await store.expireLeases()
  const clock = { time: 0, now: () => Date.now(), monotonic: () => clock.time }
  await using ledger = await store.open(clock)
  const errors = async () => [(await ledger.get('wrk_1', 'req_1'))?.error, (await ledger.get('wrk_1', 'req_2'))?.error]
  assert.deepEqual(await errors(), [undefined, 'PROCESS_LOST'])
  clock.time += 9_000
  await ledger.settle()
  assert.deepEqual(await errors(), ['PROCESS_LOST', 'PROCESS_LOST'])
})

test('MongoDB: a process that stood still takes none for dead before all had time to say that they live', {
  skip: skipWithoutMongo,
}, async () => {
  await using store = await makeStore()
  const clock = { time: 0, now: () => Date.now(), monotonic: () => clock.time }
  await using late = await store.open(clock)
  await using other = await store.open(systemClock)
  await other.open(opening, maxCost, undefined)
  await store.expireLeases()
  clock.time += 60_000
  await late.settle()
  assert.equal((await late.get('wrk_1', 'req_1'))?.status, Status.OPEN)
  clock.time += 8_999
  await late.settle()
  assert.equal((await late.get('wrk_1', 'req_1'))?.status, Status.OPEN)
  clock.time += 1
  await late.settle()
  assert.equal((await late.get('wrk_1', 'req_1'))?.error, 'PROCESS_LOST')
})

test('MongoDB: closes that come while some are written share the next write, and so do their announcements', {
  skip: skipWithoutMongo,
}, async (t) => {
  await using store = await makeStore()
  await using ledger = await store.open(systemClock)
  const closings = Array.from({ length: 20 }, (_, i) => ({ ...closing, requestId: `req_${i}`, costNanos: 5n }))
  await Promise.all(closings.map(({ requestId }) => ledger.open({ ...opening, requestId }, maxCost, undefined)))
  const written: string[] = []
  const { bulkWrite } = Collection.prototype
  t.mock.method(Collection.prototype, 'bulkWrite', function (this: Collection, ...args: Parameters<typeof bulkWrite>) {
    written.push(this.collectionName)
    return bulkWrite.apply(this, args)
  })
  await Promise.all(closings.map((each) => ledger.announce([each])))
  assert.deepEqual(written.splice(0), Array(2).fill('inference_accounts'))
  await Promise.all(closings.map((each) => ledger.close([each])))
  assert.deepEqual(written, Array(2).fill('inference_ledger'))
  for (const account of [...(await ledger.accounts('wrk_1', ['key_1'])), await ledger.workspaceAccount('wrk_1')]) {
    assert.deepEqual([account.heldRequests, account.totalNanos], [0, 100n])
  }
})

test('MongoDB: a row whose process ends while it closes it is settled with the output that it had', {
  skip: skipWithoutMongo,
}, async () => {
  await using store = await makeStore()
  {
    await using leaving = await store.open(systemClock)
    await leaving.open(opening, maxCost, undefined)
    await leaving.note([{ workspaceId: 'wrk_1', requestId: 'req_1', outputTokens: 1n }])
    await leaving.announce([{ ...closing, usage: { ...(closing.usage ?? assert.fail()), outputTokens: 5n } }])
  }
  await using ledger = await store.open(systemClock)
  const row = await ledger.get('wrk_1', 'req_1')
  assert.deepEqual([row?.error, row?.usage?.outputTokens, row?.usage?.estimated], ['PROCESS_LOST', 5n, true])
  for (const account of [...(await ledger.accounts('wrk_1', ['key_1'])), await ledger.workspaceAccount('wrk_1')]) {
    assert.deepEqual([account.heldRequests, account.totalNanos], [0, row?.costNanos])
  }
})
