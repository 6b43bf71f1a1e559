import assert from 'node:assert/strict'
import { create } from '@bufbuild/protobuf'
import { Delivery, Outcome, PromptSchema } from '#gen/portico/session/v1/session_pb.js'
import type { JsonObject } from '#shared/json.ts'
import {
  acquire,
  admission,
  admit,
  assistant,
  begin,
  get,
  messages,
  names,
  newSession,
  plain,
  refusal,
  type StoreTest,
  W,
} from './session-store.support.ts'
import { eventsOf } from './session-store.tail.ts'

/** Admission and promotion. */
export function inboxCases(test: StoreTest): void {
  test('an admission returns the item and its event, and moves the session up', async ({ store, clock }) => {
    await store.createSession(W, newSession())
    clock.advance(9)
    const prompt = create(PromptSchema, {
      text: 'Look \u0000 \ud83d\ude00',
      files: [
        {
          source: { case: 'blob', value: { hash: 'ab', size: 2 } },
          mime: 'text/plain',
          name: 'a',
          mention: { start: 0, end: 1, text: 'L' },
        },
      ],
      agents: [{ name: 'plan' }],
      metadata: { $where: { 'a.b': 1e300 } },
    })
    const expected = {
      messageId: 'msg_1',
      sessionId: 'ses_1',
      createTime: clock.now(),
      delivery: Delivery.QUEUE,
      payload: { case: 'prompt', value: prompt },
    }
    const [event] = await eventsOf(store, 1, async () => {
      const item = await store.admit(W, admission('msg_1', { prompt, delivery: Delivery.QUEUE }))
      assert.deepEqual(plain(item), plain(expected))
    })
    assert.deepEqual(plain(event?.event), { case: 'inboxEnqueued', value: { item: plain(expected) } })
    assert.equal((await get(store)).updateTime, clock.now())
    assert.deepEqual(await messages(store), [])
    assert.equal(await store.getMessage(W, 'ses_1', 'msg_1'), undefined)
  })

  test('the same admission again returns the first item, and writes nothing', async ({ store, clock }) => {
    await store.createSession(W, newSession())
    const first = await store.admit(W, admission('msg_1'))
    clock.advance(50)
    const events = await eventsOf(store, 1, async () => {
      const again = await store.admit(W, admission('msg_1', { delivery: Delivery.QUEUE }))
      assert.deepEqual(plain(again), plain(first))
      await store.admit(W, admission('msg_2'))
    })
    assert.deepEqual(
      events.map(({ event }) => event.case === 'inboxEnqueued' && event.value.item?.messageId),
      ['msg_2'],
    )
  })

  test('the same admission again returns the first item when it is a message by now', async (fixture) => {
    const { store, clock, longMs } = fixture
    await store.createSession(W, newSession())
    const first = await store.admit(W, admission('msg_1'))
    clock.advance(50)
    await store.promote(await acquire(store, longMs), 'idle')
    assert.deepEqual(plain(await store.admit(W, admission('msg_1'))), plain(first))
    assert.deepEqual(names(await messages(store)), ['msg_1'])
  })

  test('16 concurrent admissions of one id make one item', async ({ store, longMs }) => {
    await store.createSession(W, newSession())
    const items = await Promise.all(Array.from({ length: 16 }, () => store.admit(W, admission('msg_1'))))
    assert.equal(new Set(items.map((item) => JSON.stringify(plain(item)))).size, 1)
    const { messages: promoted } = await store.promote(await acquire(store, longMs), 'idle')
    assert.deepEqual(names(promoted), ['msg_1'])
  })

  test('a reused id is a conflict with another digest, another session or another message', async (fixture) => {
    const { store } = fixture
    const lease = await begin(fixture)
    await store.createSession(W, newSession('ses_2'))
    await store.recordStep(lease, { message: assistant('msg_step'), events: [] })
    await store.selectAgent(W, 'ses_1', 'plan')
    const switched = (await messages(store)).at(-1)?.message.messageId ?? ''
    const conflict = (id: string) => refusal('PROMPT_CONFLICT', { message_id: id })
    await assert.rejects(store.admit(W, admission('msg_first', { text: 'other' })), conflict('msg_first'))
    await assert.rejects(store.admit(W, admission('msg_first', { sessionId: 'ses_2' })), conflict('msg_first'))
    await assert.rejects(store.admit(W, admission('msg_step')), conflict('msg_step'))
    await assert.rejects(store.admit(W, admission(switched)), conflict(switched))
    await admit(store, Delivery.QUEUE, 'msg_waits')
    await assert.rejects(store.admit(W, admission('msg_waits', { sessionId: 'ses_2' })), conflict('msg_waits'))
    assert.equal(await store.isBusy(W, 'ses_2'), false)
  })

  test('admits an id that is sent to several sessions at once to one of them', async ({ store }) => {
    const ids = Array.from({ length: 8 }, (_, i) => `ses_${i}`)
    await Promise.all(ids.map((id) => store.createSession(W, newSession(id))))
    const outcomes = await Promise.allSettled(ids.map((sessionId) => store.admit(W, admission('msg_1', { sessionId }))))
    const refused = outcomes.filter((outcome) => outcome.status === 'rejected')
    assert.equal(refused.length, 7)
    for (const { reason } of refused) assert.equal(reason.reason, 'PROMPT_CONFLICT')
  })

  test('a refused admission does not fail concurrent ones', async ({ store, longMs }) => {
    await store.createSession(W, newSession())
    await admit(store, Delivery.STEER, 'msg_0')
    const outcomes = await Promise.allSettled(
      ['msg_1', 'msg_0', 'msg_2', 'msg_0', 'msg_3'].map((id, i) =>
        store.admit(W, admission(id, { text: `text ${i}` })),
      ),
    )
    const statuses = outcomes.map(({ status }) => status === 'fulfilled')
    assert.deepEqual(statuses, [true, false, true, false, true])
    const { messages: promoted } = await store.promote(await acquire(store, longMs), 'idle')
    assert.deepEqual(names(promoted), ['msg_0', 'msg_1', 'msg_2', 'msg_3'])
  })

  test('a failing admission does not fail concurrent ones', async ({ store, longMs }) => {
    await store.createSession(W, newSession())
    const metadata = { count: 1n } as unknown as JsonObject
    const broken = admission('msg_broken', { prompt: create(PromptSchema, { metadata }) })
    const outcomes = await Promise.allSettled(
      [admission('msg_1'), broken, admission('msg_2')].map((input) => store.admit(W, input)),
    )
    const statuses = outcomes.map(({ status }) => status === 'fulfilled')
    assert.deepEqual(statuses, [true, false, true])
    const { messages: promoted } = await store.promote(await acquire(store, longMs), 'idle')
    assert.deepEqual(names(promoted), ['msg_1', 'msg_2'])
  })

  test('concurrent admissions keep the order of their calls', async ({ store, longMs }) => {
    await store.createSession(W, newSession())
    const ids = Array.from({ length: 16 }, (_, i) => `msg_${15 - i}`)
    await Promise.all(ids.map((id) => store.admit(W, admission(id))))
    const { messages: promoted } = await store.promote(await acquire(store, longMs), 'idle')
    assert.deepEqual(names(promoted), ids)
    const seqs = promoted.map(({ seq }) => seq)
    assert.deepEqual(
      seqs,
      seqs.toSorted((a, b) => a - b),
    )
  })

  test('only a waking admission makes the session due', async ({ store, longMs }) => {
    await store.createSession(W, newSession())
    await store.admit(W, admission('msg_1', { wake: false }))
    assert.equal(await store.isBusy(W, 'ses_1'), false)
    assert.equal(await store.acquireLease('own_1', longMs), undefined)
    await store.admit(W, admission('msg_1', { wake: true }))
    assert.equal(await store.isBusy(W, 'ses_1'), true)
  })

  test('a repeated admission wakes the session, whatever the state of its input', async (fixture) => {
    const { store, longMs } = fixture
    const first = await begin(fixture)
    await admit(store, Delivery.QUEUE, 'msg_waits')
    await store.requestInterrupt(W, 'ses_1')
    await store.endRun(first, Outcome.INTERRUPTED)
    await store.admit(W, admission('msg_first', { wake: false }))
    assert.equal(await store.isBusy(W, 'ses_1'), false)
    await store.admit(W, admission('msg_first'))
    assert.equal(await store.isBusy(W, 'ses_1'), true)
    const { messages: promoted } = await store.promote(await acquire(store, longMs), 'idle')
    assert.deepEqual(names(promoted), ['msg_waits'])
  })

  test('a wake that finds nothing leaves nothing behind', async (fixture) => {
    const { store, longMs } = fixture
    await store.endRun(await begin(fixture), Outcome.SUCCEEDED)
    const [before, known] = [await get(store), names(await messages(store))]
    const events = await eventsOf(store, 1, async () => {
      await store.admit(W, admission('msg_first'))
      const lease = await acquire(store, longMs)
      assert.equal(lease.unfinished, false)
      assert.deepEqual(await store.promote(lease, 'idle'), { messages: [], admitter: undefined })
      await store.endRun(lease, Outcome.SUCCEEDED)
      assert.equal(await store.isBusy(W, 'ses_1'), false)
      assert.equal(await store.acquireLease('own_1', longMs), undefined)
      assert.deepEqual(plain(await get(store)), plain(before))
      await admit(store, Delivery.STEER, 'msg_next')
    })
    assert.equal(events[0]?.event.case, 'inboxEnqueued')
    assert.deepEqual(names(await messages(store)), known)
  })

  test('a wake that finds nothing during a run is over with it', async (fixture) => {
    const { store, longMs } = fixture
    const lease = await begin(fixture)
    await store.admit(W, admission('msg_first'))
    assert.deepEqual((await store.promote(lease, 'step')).messages, [])
    await store.endRun(lease, Outcome.SUCCEEDED)
    assert.equal(await store.acquireLease('own_1', longMs), undefined)
  })
}
