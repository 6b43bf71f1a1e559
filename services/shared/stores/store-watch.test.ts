import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import pino from 'pino'
import { type Clock, systemClock } from '#shared/clock.ts'
import { diskProblem } from '#shared/stores/disk-problem.ts'
import type { StoreProblem } from '#shared/stores/store-health.ts'
import { storePort } from '#shared/stores/store-port.ts'
import { StoreWatch } from '#shared/stores/store-watch.ts'
import { currentRequestId, withRequestId, withStoreTime } from '#shared/telemetry/request-scope.ts'
import { waitFor } from '#test/support/wait-until.ts'

const AWAY = Object.assign(new Error('no such host'), { code: 'EIO' })
const FULL = Object.assign(new Error('no space left on device'), { code: 'ENOSPC' })

/** A store that fails on demand, watched by a probe every 5 ms or never. */
function open(options: {
  probeMs?: number
  limitMs?: number
  problemOf?: (error: unknown) => StoreProblem | undefined
  clock?: Clock
}) {
  const lines: Record<string, unknown>[] = []
  const store = {
    failure: undefined as Error | undefined,
    hangs: false,
    probes: 0,
    async probe() {
      store.probes++
      await store.work()
    },
    async work() {
      if (store.hangs) await new Promise(() => {})
      if (store.failure !== undefined) throw store.failure
      return 'done'
    },
    async take(ms: number) {
      await new Promise((resolve) => setTimeout(resolve, ms))
    },
    async *stream() {
      yield await store.work()
      await new Promise((resolve) => setTimeout(resolve, 200))
      yield 'later'
    },
  }
  const logger = pino(
    { base: null, timestamp: false },
    {
      write: (line: string) => lines.push({ ...JSON.parse(line), requestId: currentRequestId() }),
    },
  )
  const watch = new StoreWatch({
    ...{ name: 'session', clock: systemClock, logger, probe: () => store.probe(), problemOf: diskProblem },
    ...{ probeMs: 5, ...options },
  })
  return { store, watch, lines, port: storePort(store, watch, { writes: ['work'] }) }
}

/** A time that passes only while something is waited for. */
function stoppedTime(t: TestContext) {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  let ms = 0
  return {
    clock: { now: () => ms, monotonic: () => ms },
    async passDuring<T>(work: Promise<T>): Promise<T> {
      let isOver = false
      const end = (): void => {
        isOver = true
      }
      work.then(end, end)
      for (await setImmediate(); !isOver; await setImmediate()) {
        ms += 5
        t.mock.timers.tick(5)
      }
      return await work
    },
  }
}

test('a store that goes and comes back is reported by one line each, and is unusable after three failures in a row', async () => {
  const { store, watch, lines } = open({})
  using _ = watch
  const changes: boolean[] = []
  watch.onChange(() => changes.push(watch.state().ok))
  store.failure = FULL
  await waitFor('the store counts as unusable', () => !watch.state().ok)
  assert.ok(store.probes >= 3)
  assert.deepEqual(watch.state(), { ok: false, kind: 'full' })
  const seen = store.probes
  await waitFor('more probes fail', () => store.probes > seen + 3)
  store.failure = undefined
  await waitFor('the store counts as usable', () => watch.state().ok)
  assert.deepEqual(changes, [false, true])
  assert.deepEqual(
    lines.map(({ level, store, reason, status, msg }) => ({ level, store, reason, status, msg })),
    [
      {
        level: 50,
        store: 'session',
        reason: 'STORE_FULL',
        status: 507,
        msg: 'The store is unavailable: no space left on device',
      },
      { level: 40, store: 'session', reason: undefined, status: undefined, msg: 'The store is available again' },
    ],
  )
})

test('a store that cannot be written from the beginning is unusable until it can', async () => {
  for (const probeMs of [5, 1_000_000]) {
    const { store, watch, lines } = open({ probeMs })
    using _ = watch
    store.failure = FULL
    await watch.begin()
    assert.deepEqual([watch.state(), store.probes], [{ ok: false, kind: 'full' }, 1])
    assert.deepEqual([lines.length, lines[0]?.msg], [1, 'The store is unavailable: no space left on device'])
    store.failure = undefined
    await waitFor('the store counts as usable', () => watch.state().ok)
  }
  const { watch, lines } = open({ probeMs: 1_000_000 })
  using _ = watch
  await watch.begin()
  assert.deepEqual([watch.state(), lines], [{ ok: true }, []])
})

test('two failures in a row do not make a store unusable', async () => {
  const { store, watch } = open({})
  using _ = watch
  let changes = 0
  watch.onChange(() => changes++)
  const probe = store.probe
  let failures = 0
  store.probe = async () => {
    await probe()
    if (store.probes % 3 === 0) return
    failures++
    throw AWAY
  }
  await waitFor('enough probes failed', () => failures > 20)
  assert.deepEqual([watch.state(), changes], [{ ok: true }, 0])
})

test('a call that fails because of the store is refused as such, and has the store probed at once', async () => {
  const { store, watch, port } = open({ probeMs: 1_000_000 })
  using _ = watch
  assert.equal(await port.work(), 'done')
  assert.equal(store.probes, 0)
  store.failure = AWAY
  await assert.rejects(port.work(), { name: 'Rejection', reason: 'STORE_UNAVAILABLE', cause: AWAY })
  await waitFor('the store is probed', () => store.probes === 1)
  store.failure = new Error('a mistake of ours')
  await assert.rejects(port.work(), { message: 'a mistake of ours' })
})

test('a call that does not end in time is given up; only the first item of a stream has a time limit', async () => {
  const { store, watch, port } = open({ probeMs: 1_000_000, limitMs: 100 })
  using _ = watch
  const items: string[] = []
  for await (const item of port.stream()) items.push(item)
  assert.deepEqual(items, ['done', 'later'])
  store.hangs = true
  const late = { reason: 'STORE_UNAVAILABLE', metadata: { problem: 'no answer within 100 ms', outcome: 'unknown' } }
  await assert.rejects(port.work(), late)
  await assert.rejects(port.stream()[Symbol.asyncIterator]().next(), late)
})

test('the calls of one request share a time limit, and each request has its own', async (t) => {
  const time = stoppedTime(t)
  const { watch, port } = open({ probeMs: 1_000_000, limitMs: 400, clock: time.clock })
  using _ = watch
  const request = (...calls: number[]) =>
    withStoreTime(async () => {
      let done = 0
      try {
        for (const ms of calls) {
          await port.take(ms)
          done++
        }
      } catch (error) {
        assert.equal((error as { reason?: string }).reason, 'STORE_UNAVAILABLE')
      }
      return done
    })
  // Each takes less than the limit.
  const both = Promise.all([request(250, 250, 10), request(10, 250, 10)])
  assert.deepEqual(await time.passDuring(both), [1, 3])
  await time.passDuring(port.take(250))
  await time.passDuring(port.take(250))
})

test('a store is probed unless it was just written; reads do not count', async (t) => {
  const probeMs = 400
  const time = stoppedTime(t)
  const { store, watch, port } = open({ probeMs, clock: time.clock })
  using _ = watch
  for (let ms = 0; ms < 3 * probeMs; ms += 20) {
    await port.work()
    await time.passDuring(port.take(20))
  }
  assert.equal(store.probes, 0)
  for (let ms = 0; ms < probeMs; ms += 20) await time.passDuring(port.take(20))
  assert.equal(store.probes, 1)
})

test('the log lines of the watch belong to no request', async () => {
  const { store, watch, port, lines } = open({ probeMs: 1_000_000 })
  using _ = watch
  store.failure = AWAY
  await withRequestId('req_1', () => assert.rejects(port.work()))
  await waitFor('the store counts as away', () => lines.length > 0)
  store.failure = undefined
  await waitFor('the store is back', () => lines.length > 1)
  assert.deepEqual(
    lines.map(({ msg, requestId }) => [msg, requestId]),
    [
      ['The store is unavailable: no such host', undefined],
      ['The store is available again', undefined],
    ],
  )
})

test('a call that failed while the store takes writes is one line a minute, not one a call', async () => {
  const { store, watch, port, lines } = open({ probeMs: 20 })
  using _ = watch
  store.probe = async () => void store.probes++
  store.failure = AWAY
  for (let i = 0; i < 3; i++) {
    const seen = store.probes
    await assert.rejects(port.work())
    await waitFor('the store is probed', () => store.probes > seen + 1)
  }
  assert.deepEqual(
    lines.map(({ msg }) => msg),
    ['A call of the store failed, but the store accepts writes: no such host'],
  )
})
