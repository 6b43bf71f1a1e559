import assert from 'node:assert/strict'
import { test } from 'node:test'
import { systemClock } from '#shared/clock.ts'
import { silentLogger } from '#test/support/transports.ts'
import { waitFor } from '#test/support/wait-until.ts'
import { Scheduler, type SchedulerOptions } from './scheduler.ts'
import { Slots } from './slots.ts'

/** A scheduler over a store that has so many sessions to drain; each drain ends when it is told to. */
function schedule(sessions: number, slots: number, maxOwned: number) {
  let fence = 0
  const ends: (() => void)[] = []
  const nothing = { [Symbol.dispose]: () => {} }
  const store = {
    acquireLease: async () =>
      fence < sessions ? { workspace: 'wrk_1', sessionId: 'ses_1', fence: ++fence, unfinished: false } : undefined,
    onChange: () => nothing,
  }
  const scheduler = new Scheduler({
    store: store as unknown as SchedulerOptions['store'],
    watchers: { watch: () => nothing } as unknown as SchedulerOptions['watchers'],
    ...{ clock: systemClock, logger: silentLogger, owner: 'own_1', leaseMs: 3_600_000 },
    ...{ slots: new Slots(slots), maxOwned },
    drain: (tenure, slot) =>
      slot.rest(
        () =>
          new Promise((resolve) => {
            ends.push(resolve)
            tenure.signal.addEventListener('abort', () => resolve())
          }),
      ),
  })
  return { scheduler, ends, taken: () => fence }
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
