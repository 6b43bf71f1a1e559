import assert from 'node:assert/strict'
import { Delivery, Outcome } from '#gen/portico/session/v1/session_pb.js'
import {
  acquire,
  admit,
  begin,
  messages,
  names,
  newSession,
  refusal,
  type StoreTest,
  W,
} from './session-store.support.ts'

/** Interrupts. */
export function interruptCases(test: StoreTest): void {
  test('an interrupt of a session that neither runs nor is due stops nothing', async ({ store }) => {
    await assert.rejects(store.requestInterrupt(W, 'ses_1'), refusal('SESSION_NOT_FOUND'))
    await store.createSession(W, newSession())
    assert.equal(await store.requestInterrupt(W, 'ses_1'), false)
  })

  test('an interrupt ends that a session is due, and its inputs wait for the next wake', async ({ store, longMs }) => {
    await store.createSession(W, newSession())
    await admit(store, Delivery.STEER, 'msg_1')
    assert.equal(await store.requestInterrupt(W, 'ses_1'), true)
    assert.equal(await store.requestInterrupt(W, 'ses_1'), false)
    assert.equal(await store.isBusy(W, 'ses_1'), false)
    assert.equal(await store.acquireLease('own_1', longMs), undefined)
    await admit(store, Delivery.STEER, 'msg_2')
    const lease = await acquire(store, longMs)
    assert.equal((await store.readLeased(lease)).interruptRequested, false)
    assert.deepEqual(names((await store.promote(lease, 'idle')).messages), ['msg_1', 'msg_2'])
  })

  test('an interrupt between lease and promotion keeps the run from beginning', async ({ store, longMs }) => {
    await store.createSession(W, newSession())
    await admit(store, Delivery.STEER, 'msg_1')
    const lease = await acquire(store, longMs)
    assert.equal(await store.requestInterrupt(W, 'ses_1'), true)
    assert.deepEqual((await store.promote(lease, 'idle')).messages, [])
    await store.endRun(lease, Outcome.INTERRUPTED)
    assert.deepEqual(await messages(store), [], 'a run that was never begun does not end')
    assert.equal(await store.isBusy(W, 'ses_1'), false)
  })

  test('the owner of a run sees the interrupt until it ends the run', async (fixture) => {
    const { store, longMs } = fixture
    const lease = await begin(fixture)
    await admit(store, Delivery.QUEUE, 'msg_q')
    assert.equal(await store.requestInterrupt(W, 'ses_1'), true)
    assert.equal((await store.readLeased(lease)).interruptRequested, true)
    assert.equal((await store.renewLease(lease, longMs)).interruptRequested, true)
    await store.endRun(lease, Outcome.INTERRUPTED)
    assert.equal(await store.isBusy(W, 'ses_1'), false)
    await admit(store, Delivery.STEER, 'msg_s')
    const next = await acquire(store, longMs)
    assert.deepEqual(await store.renewLease(next, longMs), { interruptRequested: false })
    assert.deepEqual(names((await store.promote(next, 'idle')).messages), ['msg_s'])
    assert.deepEqual(names((await store.promote(next, 'idle')).messages), ['msg_q'])
  })

  test('inputs that are admitted after an interrupt stay out of the run that ends, and are due after it', async (fixture) => {
    const { store, longMs } = fixture
    const lease = await begin(fixture)
    await admit(store, Delivery.QUEUE, 'msg_q')
    await admit(store, Delivery.STEER, 'msg_s')
    await store.requestInterrupt(W, 'ses_1')
    await admit(store, Delivery.STEER, 'msg_after')
    for (const boundary of ['step', 'idle'] as const) {
      assert.deepEqual(await store.promote(lease, boundary), { messages: [], admitter: undefined })
    }
    await store.endRun(lease, Outcome.INTERRUPTED)
    assert.equal(await store.isBusy(W, 'ses_1'), true)
    const next = await acquire(store, longMs)
    assert.deepEqual([next.unfinished, (await store.readLeased(next)).interruptRequested], [false, false])
    assert.deepEqual(names((await store.promote(next, 'idle')).messages), ['msg_s', 'msg_after'])
    assert.deepEqual(names((await store.promote(next, 'idle')).messages), ['msg_q'])
  })

  test('parks what waits also when the run succeeds or fails before it sees the interrupt', async (fixture) => {
    const { store, longMs } = fixture
    let lease = await begin(fixture)
    for (const outcome of [Outcome.SUCCEEDED, Outcome.FAILED]) {
      await admit(store, Delivery.STEER, `msg_before_${outcome}`)
      await store.requestInterrupt(W, 'ses_1')
      await store.endRun(lease, outcome)
      assert.equal(await store.isBusy(W, 'ses_1'), false)
      await admit(store, Delivery.STEER, `msg_after_${outcome}`)
      lease = await acquire(store, longMs)
      const { messages } = await store.promote(lease, 'idle')
      assert.deepEqual(names(messages), [`msg_before_${outcome}`, `msg_after_${outcome}`])
    }
  })

  test('a second interrupt parks inputs that became due since the first, and a repeated admission wakes again', async (fixture) => {
    const { store, longMs } = fixture
    const lease = await begin(fixture)
    await store.requestInterrupt(W, 'ses_1')
    await admit(store, Delivery.QUEUE, 'msg_q')
    assert.equal(await store.requestInterrupt(W, 'ses_1'), true)
    await store.endRun(lease, Outcome.INTERRUPTED)
    assert.equal(await store.isBusy(W, 'ses_1'), false)
    await admit(store, Delivery.QUEUE, 'msg_q')
    const next = await acquire(store, longMs)
    assert.deepEqual(names((await store.promote(next, 'idle')).messages), ['msg_q'])
  })

  test('an interrupt survives the owner that did not notice it', async (fixture) => {
    const { store, longMs } = fixture
    const lease = await begin(fixture)
    await store.requestInterrupt(W, 'ses_1')
    await store.releaseLease(lease)
    const next = await acquire(store, longMs, 'own_2')
    assert.equal((await store.readLeased(next)).interruptRequested, true)
  })
}
