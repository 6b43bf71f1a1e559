import assert from 'node:assert/strict'
import { test } from 'node:test'
import { systemClock } from '#shared/clock.ts'
import { silentLogger } from '#test/support/transports.ts'
import { waitFor } from '#test/support/wait-until.ts'
import { Scheduler, type SchedulerOptions } from './scheduler.ts'
import { Slot, Slots } from './slots.ts'

/** A scheduler over a store that has so many sessions to drain; each drain ends on demand. */
function schedule(sessions: number, slots: number, maxOwned: number, works = false, maxOwnedOfOne = maxOwned) {
  let fence = 0
  let looks = 0
  const ends: (() => void)[] = []
  const owners: string[] = []
  const nothing = { [Symbol.dispose]: () => {} }
  const store = {
    acquireLease: async (_owner: string, _ms: number, except: readonly string[]) => {
      const workspace = ['wrk_1', 'wrk_2'].find((workspace) => !except.includes(workspace))
      if (workspace === undefined || fence >= sessions) return undefined
      return { workspace, sessionId: 'ses_1', fence: ++fence, unfinished: false, acquisitions: 1 }
    },
    onChange: () => nothing,
  }
  const scheduler = new Scheduler({
    store: store as unknown as SchedulerOptions['store'],
    watchers: { watch: () => nothing } as unknown as SchedulerOptions['watchers'],
    ...{ clock: systemClock, logger: silentLogger, owner: 'own_1', leaseMs: 3_600_000 },
    ...{ slots: new Slots(slots), maxOwned, maxOwnedOfOne },
    drain: (tenure, slot) => {
      owners.push(tenure.lease.workspace)
      Object.defineProperty(slot, 'busy', {
        get: () => {
          looks++
          return Reflect.get(Slot.prototype, 'busy', slot)
        },
      })
      const lasts = () =>
        new Promise<void>((resolve) => {
          ends.push(resolve)
          tenure.signal.addEventListener('abort', () => resolve())
        })
      return works ? lasts() : slot.rest(lasts)
    },
  })
  return { scheduler, ends, owners, taken: () => fence, looks: () => looks }
}

test('sessions that wait are owned up to a bound, and the others are taken when one of them is done', async () => {
  const { scheduler, ends, taken } = schedule(5, 1, 3)
  await using _ = scheduler
  await waitFor('three sessions', () => ends.length === 3)
  await new Promise((resolve) => setImmediate(resolve))
  assert.equal(taken(), 3)
  ends[1]?.()
  await waitFor('a fourth one', () => ends.length === 4)
  assert.equal(taken(), 4)
})

test('a workspace whose sessions wait up to its bound does not block those of others', async () => {
  const { scheduler, ends, owners, taken } = schedule(100, 1, 5, false, 3)
  await using _ = scheduler
  await waitFor('five sessions', () => ends.length === 5)
  assert.deepEqual(owners, ['wrk_1', 'wrk_1', 'wrk_1', 'wrk_2', 'wrk_2'])
  ends[0]?.()
  await waitFor('one more of the first', () => ends.length === 6)
  assert.equal(owners.at(-1), 'wrk_1')
  assert.equal(taken(), 6)
})

test('a scheduler that drains takes no more sessions, and lets a working run come to its end', async () => {
  const { scheduler, ends, taken, looks } = schedule(5, 1, 3, true)
  await using _ = scheduler
  await waitFor('a session', () => ends.length === 1)
  let drained = false
  const drain = scheduler.drain(3_600_000).then(() => {
    drained = true
  })
  await waitFor('some looks at what works', () => looks() >= 3 || drained)
  assert.equal(drained, false)
  ends[0]?.()
  await drain
  assert.equal(taken(), 1)
})

test('a scheduler that drains waits no longer than allowed, and not at all for runs that only wait', async () => {
  for (const [works, ms] of [
    [true, 30],
    [false, 3_600_000],
  ] as const) {
    const { scheduler, ends } = schedule(1, 1, 3, works)
    await waitFor('a session', () => ends.length === 1)
    await scheduler.drain(ms)
    await scheduler[Symbol.asyncDispose]()
  }
})
