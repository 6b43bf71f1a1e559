import assert from 'node:assert/strict'
import test from 'node:test'
import { Rejection } from '#shared/rejection.ts'
import { waitFor } from '#test/support/wait-until.ts'
import { type Counted, ExchangeLimit, RecentCounts, type ReportExchanges } from './exchange-limit.ts'

const time = { ms: 1_000_000 }
const clock = { now: () => time.ms, monotonic: () => time.ms }
const interval = (): number => Math.floor(time.ms / 2_000)

/** What the replicas report to. */
function sharedStore() {
  const totals = new Map<string, RecentCounts>()
  const reports: Counted[][] = []
  const report: ReportExchanges = async (admitted) => {
    reports.push(admitted)
    return admitted.map(({ network, counts }) => {
      const total = totals.get(network) ?? new RecentCounts()
      totals.set(network, total)
      total.addAll(interval(), counts)
      return { network, counts: [...total.at(interval())] }
    })
  }
  return { report, reports, total: (network: string): number => totals.get(network)?.total(interval()) ?? 0 }
}

/** How many of `times` exchanges are let through, and what the refused ones say of when to come back. */
function exchange(limit: ExchangeLimit, times: number, network = '10.0.0.1') {
  let admitted = 0
  const retryAfter = new Set<number>()
  for (let i = 0; i < times; i++) {
    try {
      limit.admit(network)
      admitted += 1
    } catch (error) {
      assert.ok(error instanceof Rejection && error.reason === 'TOO_MANY_EXCHANGES')
      retryAfter.add(Number(error.metadata.retry_after))
    }
  }
  return { admitted, retryAfter: [...retryAfter] }
}

const away: ReportExchanges = () => Promise.reject(new Error('away'))

test('59: a client network is admitted a limited number of times within any minute; later requests get the time to wait', () => {
  time.ms = 1_000_000
  const limit = new ExchangeLimit({ clock, limit: 600, report: away })
  assert.equal(exchange(limit, 300).admitted, 300)
  time.ms += 30_000
  assert.deepEqual(exchange(limit, 400), { admitted: 300, retryAfter: [34] })
  assert.equal(exchange(limit, 10, '10.0.0.2').admitted, 10, 'another network has its own count')
  time.ms += 33_999
  assert.deepEqual(exchange(limit, 1), { admitted: 0, retryAfter: [1] })
  time.ms += 1
  assert.equal(exchange(limit, 400).admitted, 300)
})

test('no minute admits more than the limit, whenever requests come', () => {
  let seed = 7
  const random = (n: number): number => {
    seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648
    return seed % n
  }
  const limit = new ExchangeLimit({ clock, limit: 50, report: away })
  const times: number[] = []
  for (let i = 0; i < 3_000; i++) {
    time.ms += random(700)
    for (let n = exchange(limit, 1 + random(4)).admitted; n > 0; n--) times.push(time.ms)
  }
  for (const [i, at] of times.entries()) {
    const earlier = times[i - 50]
    assert.ok(earlier === undefined || at - earlier >= 60_000, `${at - (earlier ?? 0)}`)
  }
  assert.ok(times.length > 500)
})

test('replicas let through together at most the limit and what arrives before they report', async () => {
  const store = sharedStore()
  const replicas = [1, 2, 3].map(() => new ExchangeLimit({ clock, limit: 600, report: store.report }))
  let admitted = 0
  for (const replica of replicas) admitted += exchange(replica, 190).admitted
  assert.equal(admitted, 570)
  const reported = (): Promise<void> => waitFor('all is reported', () => store.total('10.0.0.1') === admitted)
  await reported()
  // Nobody knows yet what those let through that reported later.
  for (const replica of replicas) admitted += exchange(replica, 10).admitted
  assert.equal(admitted, 600)
  await reported()
  for (const replica of replicas) admitted += exchange(replica, 100).admitted
  assert.ok(admitted <= 630, `${admitted}`)
  await reported()
  for (const replica of replicas) assert.equal(exchange(replica, 10).admitted, 0)
})

test('while the store is away, each replica goes on with its own count, and reports it once the store is back', async () => {
  const store = sharedStore()
  let down = true
  let failed = 0
  const report: ReportExchanges = (admitted) => {
    if (!down) return store.report(admitted)
    failed += 1
    return away(admitted)
  }
  const limit = new ExchangeLimit({ clock, limit: 600, report })
  assert.equal(exchange(limit, 700).admitted, 600)
  await waitFor('a report fails', () => failed === 1)
  assert.equal(exchange(limit, 10).admitted, 0)
  down = false
  await waitFor('all is reported', () => store.total('10.0.0.1') === 600)
})

test('a jump of the shared counter’s clock forgets nothing that a replica let through', async () => {
  for (const jump of [-3_600_000, -30_000, 30_000, 3_600_000]) {
    time.ms = 1_000_000
    const wall = { ahead: 0 }
    const intervals = new Map<number, number>()
    let reports = 0
    const report: ReportExchanges = async ([counted = assert.fail()]) => {
      const now = Math.floor((time.ms + wall.ahead) / 2_000)
      for (const [age, count] of counted.counts.entries())
        intervals.set(now - age, (intervals.get(now - age) ?? 0) + count)
      reports += 1
      return [
        { network: counted.network, counts: Array.from({ length: 32 }, (_, age) => intervals.get(now - age) ?? 0) },
      ]
    }
    const limit = new ExchangeLimit({ clock, limit: 600, report })
    const reported = async (times: number): Promise<void> => waitFor('a report', () => reports === times)
    assert.equal(exchange(limit, 300).admitted, 300)
    await reported(1)
    time.ms += 10_000
    assert.equal(exchange(limit, 290).admitted, 290)
    await reported(2)
    wall.ahead = jump
    assert.equal(exchange(limit, 1).admitted, 1)
    await reported(3)
    assert.equal(exchange(limit, 600).admitted, 9, `${jump}`)
    await reported(4)
    time.ms += 53_999
    assert.equal(exchange(limit, 1).admitted, 0)
    time.ms += 1
    assert.equal(exchange(limit, 600).admitted, 300, `${jump}`)
  }
})

test('a bounded number of networks is remembered, also while the store is away', async () => {
  const limit = new ExchangeLimit({ clock, limit: 1, report: away })
  assert.equal(exchange(limit, 2).admitted, 1)
  for (let i = 0; i < 10_000; i++) limit.admit(`2001:db8:${i}::/64`)
  assert.equal(exchange(limit, 2).admitted, 1, 'the longest silent one is forgotten')
})
