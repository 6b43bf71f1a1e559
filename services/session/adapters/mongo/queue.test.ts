import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { type ClientSession, MongoNetworkError } from 'mongodb'
import type { Mongo } from '#shared/stores/mongo.ts'
import { waitFor } from '#test/support/wait-until.ts'
import type { Collections } from './collections.ts'
import { type JobLimits, MongoQueue } from './queue.ts'

const LONG_MS = 1_000_000
const CLIENT = { limitMs: LONG_MS, patient: false }

/** A queue whose transactions do what the test wants; `jobs` says which ran in each. */
function open(during: (transaction: number) => Promise<void>) {
  const transactions: { readonly limitMs: number; readonly jobs: string[] }[] = []
  const mongo = {
    async transact<T>(work: (session: ClientSession) => Promise<T>, limitMs = 0): Promise<T> {
      transactions.push({ limitMs, jobs: [] })
      await during(transactions.length)
      return await work({} as ClientSession)
    },
  } as Partial<Mongo> as Mongo
  const queue = new MongoQueue(mongo, { sessions: { updateOne: async () => {} } } as unknown as Collections)
  const run = (name: string, limits: JobLimits, work?: Promise<unknown>) =>
    queue.run('wrk_1', 'ses_1', limits, async () => {
      transactions.at(-1)?.jobs.push(name)
      await work
      return name
    })
  return { transactions, run, jobs: () => transactions.map(({ jobs }) => jobs) }
}

test('waiting writes are given up at their time limit while a transaction hangs, and make room for others', async () => {
  const stuck = Promise.withResolvers<void>()
  const { run, jobs } = open(() => stuck.promise)
  const first = run('first', CLIENT)
  await waitFor('the first is under way', () => jobs().length === 1)
  // As many as may wait at all.
  const late = Array.from({ length: 1_000 }, (_, i) =>
    assert.rejects(run('late', { limitMs: 20, patient: i % 2 === 0 }), { reason: 'STORE_UNAVAILABLE' }),
  )
  await Promise.all(late)
  const others = Array.from({ length: 1_000 }, () => run('other', CLIENT))
  stuck.resolve()
  await Promise.all([first, ...others])
  assert.deepEqual(new Set(jobs().flat()), new Set(['first', 'other']))
})

test('refuses a job when a thousand wait', async () => {
  const stuck = Promise.withResolvers<void>()
  const { run, jobs } = open(() => stuck.promise)
  const first = run('first', CLIENT)
  await waitFor('the first is under way', () => jobs().length === 1)
  const waiting = Array.from({ length: 1_000 }, () => run('waiting', CLIENT))
  await assert.rejects(run('one more', CLIENT), { reason: 'STORE_UNAVAILABLE' })
  stuck.resolve()
  await Promise.all([first, ...waiting])
  assert.equal(jobs().flat().length, 1_001)
})

test('a write under a lease and one of a client never share a transaction, and each has its own limit', async () => {
  const { transactions, run, jobs } = open(async () => {})
  await Promise.all([
    run('client 1', { limitMs: LONG_MS, patient: false }),
    run('client 2', { limitMs: LONG_MS / 2, patient: false }),
    run('leased', { limitMs: 4 * LONG_MS, patient: true }),
    run('client 3', { limitMs: LONG_MS, patient: false }),
  ])
  assert.deepEqual(jobs(), [['client 1', 'client 2'], ['leased'], ['client 3']])
  const limits = transactions.map(({ limitMs }) => Math.round(limitMs / LONG_MS / 0.1) * 0.1)
  assert.deepEqual(limits, [0.5, 4, 1])
})

test('a failing transaction is retried only for those that have time left', async () => {
  const { run, jobs } = open(async (transaction) => {
    if (transaction === 1) throw new MongoNetworkError('connection closed')
  })
  const short = assert.rejects(run('short', { limitMs: LONG_MS / 2, patient: false }), MongoNetworkError)
  const long = run('long', CLIENT)
  await Promise.all([short, long])
  assert.deepEqual(jobs(), [[], ['long']])
})

test('a slow transaction takes no other job with it; jobs marked as first precede those that ran out of time', async () => {
  const { run, jobs } = open(async () => {})
  const slow = run('slow', CLIENT, delay(600))
  const rest = [run('rest 1', CLIENT), run('rest 2', CLIENT)]
  await waitFor('the slow one is under way', () => jobs().length === 1)
  await Promise.all([
    slow,
    ...rest,
    run('late', CLIENT),
    run('claim', { limitMs: LONG_MS, patient: true, first: true }),
  ])
  assert.deepEqual(jobs(), [['slow'], ['claim'], ['rest 1', 'rest 2', 'late']])
})
