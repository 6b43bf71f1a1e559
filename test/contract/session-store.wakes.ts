import assert from 'node:assert/strict'
import type { StructuredError } from '#gen/portico/session/v1/message_pb.js'
import { Delivery, Outcome } from '#gen/portico/session/v1/session_pb.js'
import { structuredError } from '#services/session/domain/structured-error.ts'
import {
  acquire,
  admission,
  admit,
  admitter,
  assistant,
  begin,
  messages,
  moveAdmission,
  names,
  newSession,
  plain,
  type StepInit,
  type StoreFixture,
  type StoreTest,
  W,
} from './session-store.support.ts'
import { eventsOf } from './session-store.tail.ts'

const other = { ...admitter, apiKeyId: 'key_2' }

/** A session whose last run has ended after a step. */
async function ended(fixture: StoreFixture, step: StepInit & { readonly error?: StructuredError }): Promise<void> {
  const { store, clock } = fixture
  const lease = await begin(fixture)
  const message = assistant('msg_step', { completeTime: clock.now(), ...step })
  await store.recordStep(lease, { message, events: [] })
  await store.endRun(lease, step.error === undefined ? Outcome.SUCCEEDED : Outcome.FAILED, step.error)
}

const refused = structuredError('provider.refused', 'no')

/** How a session becomes due. */
export function wakeCases(test: StoreTest): void {
  test('a resume after a failed run begins a run without an input, on the account of its caller', async (fixture) => {
    const { store, longMs } = fixture
    await ended(fixture, { error: refused })
    await store.resumeRun(W, 'ses_1', other)
    await store.resumeRun(W, 'ses_1', other)
    const lease = await acquire(store, longMs)
    const [event] = await eventsOf(store, 1, async () => {
      const { next, admitter, messages } = await store.beginStep(lease)
      assert.deepEqual([next, admitter], [{ type: 'step' }, other])
      assert.deepEqual(names(messages), ['msg_first', 'msg_step', 'idle'])
    })
    assert.deepEqual(plain(event?.event), { case: 'executionStarted', value: {} })
    await store.endRun(lease, Outcome.FAILED, refused)
    assert.equal(await store.isBusy(W, 'ses_1'), false, 'it does so once')
  })

  test('a run that was resumed is taken over as one', async (fixture) => {
    const { store, shortMs, longMs } = fixture
    await ended(fixture, { error: refused })
    await store.resumeRun(W, 'ses_1', other)
    await store.beginStep(await acquire(store, shortMs))
    await fixture.outlast()
    const next = await acquire(store, longMs)
    assert.deepEqual([next.unfinished, next.heldUntil > 0], [true, true])
    assert.deepEqual((await store.beginStep(next)).next, { type: 'step' })
  })

  test('a resume lets steers into the run that goes on, and queued items in after it', async (fixture) => {
    const { store, longMs } = fixture
    await ended(fixture, { error: refused })
    await store.admit(W, admission('msg_q', { delivery: Delivery.QUEUE, wake: false }))
    await store.admit(W, admission('msg_s', { wake: false }))
    await store.resumeRun(W, 'ses_1', other)
    const lease = await acquire(store, longMs)
    const { messages } = await store.beginStep(lease)
    assert.deepEqual(names(messages).at(-1), 'msg_s')
    await store.endRun(lease, Outcome.FAILED, refused)
    const next = await acquire(store, longMs)
    assert.deepEqual(names((await store.beginStep(next)).messages).at(-1), 'msg_q')
  })

  test('a resume where nothing is left to do begins no run, and one where inputs are parked begins theirs', async (fixture) => {
    const { store, longMs } = fixture
    await ended(fixture, {})
    const before = names(await messages(store))
    await store.resumeRun(W, 'ses_1', other)
    const lease = await acquire(store, longMs)
    assert.equal((await store.beginStep(lease)).next, undefined)
    await store.endRun(lease, Outcome.SUCCEEDED)
    assert.deepEqual(names(await messages(store)), before)
    assert.equal(await store.isBusy(W, 'ses_1'), false)
    await store.admit(W, admission('msg_q', { delivery: Delivery.QUEUE, wake: false }))
    await store.resumeRun(W, 'ses_1', other)
    const next = await acquire(store, longMs)
    assert.deepEqual(names((await store.beginStep(next)).messages).at(-1), 'msg_q')
    await store.createSession(W, newSession('ses_new'))
    await store.resumeRun(W, 'ses_new', other)
    assert.equal((await store.beginStep(await acquire(store, longMs))).next, undefined)
  })

  test('an interrupt that resumes leaves only queued inputs parked', async (fixture) => {
    const { store, longMs } = fixture
    const lease = await begin(fixture)
    await admit(store, Delivery.QUEUE, 'msg_q')
    await admit(store, Delivery.STEER, 'msg_s1')
    await store.moveSession(W, moveAdmission('msg_m'))
    await admit(store, Delivery.STEER, 'msg_s2')
    assert.equal(await store.requestInterrupt(W, 'ses_1', true), true)
    assert.deepEqual((await store.promote(lease, 'step')).messages, [])
    await store.endRun(lease, Outcome.INTERRUPTED)
    const next = await acquire(store, longMs)
    assert.deepEqual(names((await store.promote(next, 'idle')).messages), ['msg_s1'])
    assert.deepEqual(names((await store.promote(next, 'step')).messages), ['locationSwitched'])
    assert.deepEqual(names((await store.promote(next, 'step')).messages), ['msg_s2'])
    await store.endRun(next, Outcome.SUCCEEDED)
    assert.equal(await store.acquireLease('own_1', longMs), undefined)
    await admit(store, Delivery.STEER, 'msg_s3')
    const last = await acquire(store, longMs)
    assert.deepEqual(names((await store.promote(last, 'idle')).messages), ['msg_s3'])
    assert.deepEqual(names((await store.promote(last, 'idle')).messages), ['msg_q'])
  })

  test('a lease says until when the one before it lasted, unless that was given back', async (fixture) => {
    const { store, shortMs, longMs } = fixture
    const lease = await begin(fixture, shortMs)
    assert.equal(lease.heldUntil, 0)
    await fixture.outlast()
    const second = await acquire(store, longMs)
    assert.ok(second.heldUntil > 0)
    await store.releaseLease(second)
    assert.equal((await acquire(store, longMs)).heldUntil, 0)
  })
}
