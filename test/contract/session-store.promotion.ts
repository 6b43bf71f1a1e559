import assert from 'node:assert/strict'
import { Delivery, Outcome } from '#gen/portico/session/v1/session_pb.js'
import { messageOf } from '#services/session/domain/message.ts'
import {
  acquire,
  admission,
  admit,
  admitter,
  begin,
  messages,
  moveAdmission,
  names,
  newSession,
  plain,
  refusal,
  type StoreTest,
  syntheticAdmission,
  W,
} from './session-store.support.ts'
import { eventsOf } from './session-store.tail.ts'

/** Promotion. */
export function promotionCases(test: StoreTest): void {
  test('promotion begins the run and makes user messages, each with its event', async ({ store, clock, longMs }) => {
    await store.createSession(W, newSession())
    await admit(store, Delivery.STEER, 'msg_1')
    const lease = await acquire(store, longMs)
    clock.advance(20)
    const events = await eventsOf(store, 2, async () => {
      const promotion = await store.promote(lease, 'idle')
      assert.deepEqual(promotion.admitter, admitter)
      assert.deepEqual(plain(promotion.messages), plain(await messages(store)))
    })
    assert.deepEqual(
      events.map(({ event }) => plain(event)),
      [
        { case: 'executionStarted', value: {} },
        { case: 'inboxDelivered', value: { messageId: 'msg_1' } },
      ],
    )
    const stored = await store.getMessage(W, 'ses_1', 'msg_1')
    const { payload } = admission('msg_1')
    assert.deepEqual(
      plain(stored?.message),
      plain(messageOf({ messageId: 'msg_1', createTime: clock.now() }, 'user', payload.value)),
    )
    assert.deepEqual(await store.lastAdmitter(lease), admitter)
  })

  test('a step boundary lets in every steer and no queued item', async (fixture) => {
    const { store } = fixture
    const lease = await begin(fixture)
    await admit(store, Delivery.QUEUE, 'msg_q1')
    await admit(store, Delivery.STEER, 'msg_s1', 'msg_s2')
    assert.deepEqual(names((await store.promote(lease, 'step')).messages), ['msg_s1', 'msg_s2'])
    assert.deepEqual(await store.promote(lease, 'step'), { messages: [], admitter: undefined })
  })

  test('an idle boundary lets in every steer, and where none waits the oldest queued item', async (fixture) => {
    const { store } = fixture
    const lease = await begin(fixture)
    await admit(store, Delivery.QUEUE, 'msg_q1')
    await admit(store, Delivery.STEER, 'msg_s1')
    await admit(store, Delivery.QUEUE, 'msg_q2')
    await admit(store, Delivery.STEER, 'msg_s2')
    assert.deepEqual(names((await store.promote(lease, 'idle')).messages), ['msg_s1', 'msg_s2'])
    assert.deepEqual(names((await store.promote(lease, 'idle')).messages), ['msg_q1'])
    assert.deepEqual(names((await store.promote(lease, 'idle')).messages), ['msg_q2'])
    assert.deepEqual(names((await store.promote(lease, 'idle')).messages), [])
  })

  test('a woken session runs its parked inputs: steers first, then one queued item after the other', async (fixture) => {
    const { store, longMs } = fixture
    await store.createSession(W, newSession())
    for (const id of ['msg_q1', 'msg_q2']) {
      await store.admit(W, admission(id, { delivery: Delivery.QUEUE, wake: false }))
    }
    await store.admit(W, admission('msg_s1', { wake: false }))
    await admit(store, Delivery.STEER, 'msg_s2')
    for (const entered of [['msg_s1', 'msg_s2'], ['msg_q1'], ['msg_q2']]) {
      const lease = await acquire(store, longMs)
      const { messages, next } = await store.beginStep(lease, { messages: [], lastSeq: 1_000_000 })
      assert.deepEqual([names(messages), next], [entered, { type: 'step' }])
      await store.endRun(lease, Outcome.SUCCEEDED)
    }
    assert.equal(await store.isBusy(W, 'ses_1'), false)
  })

  test('a limited number of steers enters at once, in order, and the session stays due until all have entered', async (fixture) => {
    const { store } = fixture
    const lease = await begin(fixture)
    const ids = Array.from({ length: 120 }, (_, n) => `msg_s${n}`)
    await admit(store, Delivery.STEER, ...ids)
    await admit(store, Delivery.QUEUE, 'msg_q')
    const { length: before } = await messages(store)
    const batches: number[] = []
    for (;;) {
      const { messages, next } = await store.beginStep(lease, { messages: [], lastSeq: 1_000_000 })
      batches.push(messages.length)
      assert.deepEqual(names(messages), ids.slice(0, messages.length), 'in order')
      ids.splice(0, messages.length)
      if (next?.type !== 'boundary') break
      assert.equal(await store.isBusy(W, 'ses_1'), true)
    }
    assert.deepEqual([batches, ids], [[50, 50, 20], []])
    assert.equal((await messages(store)).length, before + 120)
    assert.deepEqual(names((await store.promote(lease, 'idle')).messages), ['msg_q'])
  })

  test('fewer steers enter at once the longer they are', async (fixture) => {
    const { store } = fixture
    const lease = await begin(fixture)
    for (const id of ['msg_1', 'msg_2', 'msg_3']) {
      await store.admit(W, admission(id, { text: 'x'.repeat(600_000) }))
    }
    for (const id of ['msg_1', 'msg_2', 'msg_3']) {
      assert.deepEqual(names((await store.promote(lease, 'step')).messages), [id])
    }
  })

  test('refuses an item when a thousand wait in a session', async (fixture) => {
    const { store } = fixture
    await store.createSession(W, newSession())
    const parked = (n: number) => store.admit(W, admission(`msg_${n}`, { wake: false }))
    for (let n = 0; n < 999; n += 111) await Promise.all(Array.from({ length: 111 }, (_, i) => parked(n + i)))
    const last = await Promise.allSettled([999, 2_000, 2_001, 2_002].map(parked))
    assert.equal(last.filter(({ status }) => status === 'fulfilled').length, 1, 'of several at once one is the last')
    for (const admitted of [
      parked(1_000),
      store.admit(W, syntheticAdmission('msg_s', { text: 'Hi' })),
      store.moveSession(W, moveAdmission('msg_m')),
    ]) {
      await assert.rejects(admitted, refusal('INBOX_FULL'))
    }
    assert.equal((await parked(7)).messageId, 'msg_7', 'what was admitted is known')
    await store.createSession(W, newSession('ses_2'))
    await store.admit(W, admission('msg_other', { sessionId: 'ses_2' }))
    await store.cancelItem(W, 'ses_1', 'msg_7')
    await parked(1_000)
    await assert.rejects(parked(1_001), refusal('INBOX_FULL'))
  })

  test('the run begins once', async (fixture) => {
    const { store } = fixture
    const lease = await begin(fixture)
    await admit(store, Delivery.STEER, 'msg_s1')
    const [event] = await eventsOf(store, 1, () => store.promote(lease, 'step'))
    assert.equal(event?.event.case, 'inboxDelivered')
  })

  test('returns the admitter of the last promoted input', async (fixture) => {
    const { store } = fixture
    const lease = await begin(fixture)
    const second = { ...admitter, apiKeyId: 'key_2' }
    await store.admit(W, admission('msg_2', { admitter: second }))
    assert.deepEqual(await store.lastAdmitter(lease), admitter)
    assert.deepEqual((await store.promote(lease, 'step')).admitter, second)
    assert.deepEqual(await store.lastAdmitter(lease), second)
  })

  test('returns no admitter before the first promotion', async ({ store, longMs }) => {
    await store.createSession(W, newSession())
    await admit(store, Delivery.STEER, 'msg_1')
    assert.equal(await store.lastAdmitter(await acquire(store, longMs)), undefined)
  })
}
