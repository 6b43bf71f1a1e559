import assert from 'node:assert/strict'
import { create } from '@bufbuild/protobuf'
import { Delivery, SessionLocationSchema } from '#gen/portico/session/v1/session_pb.js'
import {
  acquire,
  admission,
  admit,
  admitter,
  begin,
  get,
  messages,
  moveAdmission,
  names,
  newSession,
  OTHER,
  plain,
  refusal,
  type StoreFixture,
  type StoreTest,
  syntheticAdmission,
  W,
} from './session-store.support.ts'
import { eventsOf } from './session-store.tail.ts'

/** Ids of what waits, with their delivery. */
async function waiting({ store }: StoreFixture): Promise<string[]> {
  return (await store.inbox(W, 'ses_1', 0, 100)).map(
    ({ item: { messageId, delivery } }) => `${messageId} ${Delivery[delivery].toLowerCase()}`,
  )
}

/** Inbox items of all types: the list of them, their cancellation, and changes of their delivery. */
export function inboxItemCases(test: StoreTest): void {
  test('waiting inputs of all types and deliveries are listed in order of admission, from any place', async (fixture) => {
    const { store, clock } = fixture
    await begin(fixture)
    const synthetic = { text: 'A build failed', description: 'CI', metadata: { $a: { 'b.c': [1] } } }
    const move = create(SessionLocationSchema, { directory: '/other', projectId: 'prj_2', subpath: 'a' })
    await admit(store, Delivery.QUEUE, 'msg_1')
    await store.admit(W, syntheticAdmission('msg_2', synthetic))
    await store.moveSession(W, moveAdmission('msg_3', { move, delivery: Delivery.QUEUE }))
    await admit(store, Delivery.STEER, 'msg_4')
    const items = await store.inbox(W, 'ses_1', 0, 100)
    const base = { sessionId: 'ses_1', createTime: clock.now() }
    assert.deepEqual(
      items.map(({ item, admitter }) => plain([item, admitter])),
      [
        { messageId: 'msg_1', ...base, delivery: Delivery.QUEUE, payload: plain(admission('msg_1').payload) },
        { messageId: 'msg_2', ...base, delivery: Delivery.STEER, payload: { case: 'synthetic', value: synthetic } },
        { messageId: 'msg_3', ...base, delivery: Delivery.QUEUE, payload: { case: 'move', value: plain(move) } },
        { messageId: 'msg_4', ...base, delivery: Delivery.STEER, payload: plain(admission('msg_4').payload) },
      ].map((item) => [item, admitter]),
    )
    const seqs = items.map(({ seq }) => seq)
    assert.deepEqual(
      seqs,
      seqs.toSorted((a, b) => a - b),
    )
    const ids = async (after: number, limit: number) =>
      (await store.inbox(W, 'ses_1', after, limit)).map(({ item }) => item.messageId)
    assert.deepEqual(await ids(0, 3), ['msg_1', 'msg_2', 'msg_3'])
    assert.deepEqual(await ids(seqs[1] ?? 0, 3), ['msg_3', 'msg_4'])
    await assert.rejects(store.inbox(OTHER, 'ses_1', 0, 1), refusal('SESSION_NOT_FOUND'))
  })

  test('a changed delivery is an event, moves the session up, and counts from then on', async (fixture) => {
    const { store, clock } = fixture
    const lease = await begin(fixture)
    await admit(store, Delivery.QUEUE, 'msg_1', 'msg_2')
    await admit(store, Delivery.STEER, 'msg_3')
    clock.advance(5)
    const events = await eventsOf(store, 2, async () => {
      assert.equal(await store.changeDelivery(W, 'ses_1', 'msg_2', Delivery.STEER), undefined)
      assert.equal(await store.changeDelivery(W, 'ses_1', 'msg_3', Delivery.QUEUE), undefined)
    })
    assert.deepEqual(
      events.map(({ event }) => plain(event)),
      [
        { case: 'inboxDeliveryChanged', value: { messageId: 'msg_2', delivery: Delivery.STEER } },
        { case: 'inboxDeliveryChanged', value: { messageId: 'msg_3', delivery: Delivery.QUEUE } },
      ],
    )
    assert.equal((await get(store)).updateTime, clock.now())
    assert.deepEqual(await waiting(fixture), ['msg_1 queue', 'msg_2 steer', 'msg_3 queue'])
    assert.deepEqual(names((await store.promote(lease, 'step')).messages), ['msg_2'])
    assert.deepEqual(names((await store.promote(lease, 'idle')).messages), ['msg_1'])
  })

  test('only an input that waits for the other boundary can change its delivery', async (fixture) => {
    const { store } = fixture
    await begin(fixture)
    await store.createSession(W, newSession('ses_2'))
    await admit(store, Delivery.QUEUE, 'msg_1', 'msg_cancelled')
    await store.cancelItem(W, 'ses_1', 'msg_cancelled')
    for (const [session, id, delivery, unchanged] of [
      ['ses_1', 'msg_1', Delivery.QUEUE, 'same'],
      ['ses_1', 'msg_first', Delivery.QUEUE, 'delivered'],
      ['ses_1', 'msg_first', Delivery.STEER, 'delivered'],
      ['ses_1', 'msg_cancelled', Delivery.STEER, 'cancelled'],
      ['ses_1', 'msg_unknown', Delivery.STEER, 'unknown'],
      ['ses_2', 'msg_1', Delivery.STEER, 'unknown'],
    ] as const) {
      const said = await store.changeDelivery(W, session, id, delivery)
      assert.equal(said, unchanged, `${session} ${id} ${delivery}`)
    }
    assert.deepEqual(await waiting(fixture), ['msg_1 queue'])
    await assert.rejects(store.changeDelivery(OTHER, 'ses_1', 'msg_1', Delivery.STEER), refusal('SESSION_NOT_FOUND'))
  })

  test('a change to steer wakes the session, one to queue does not', async ({ store, longMs }) => {
    await store.createSession(W, newSession())
    await store.admit(W, admission('msg_1', { wake: false }))
    await store.changeDelivery(W, 'ses_1', 'msg_1', Delivery.QUEUE)
    assert.equal(await store.isBusy(W, 'ses_1'), false)
    await store.changeDelivery(W, 'ses_1', 'msg_1', Delivery.STEER)
    const lease = await acquire(store, longMs)
    assert.deepEqual(names((await store.promote(lease, 'idle')).messages), ['msg_1'])
  })

  test('a cancelled input never enters; cancelling it again, or an input that does not wait, writes nothing', async (fixture) => {
    const { store, clock } = fixture
    const lease = await begin(fixture)
    await store.createSession(W, newSession('ses_2'))
    await admit(store, Delivery.QUEUE, 'msg_1')
    await store.moveSession(W, moveAdmission('msg_2'))
    await admit(store, Delivery.STEER, 'msg_3')
    clock.advance(5)
    const events = await eventsOf(store, 3, async () => {
      await store.cancelItem(W, 'ses_2', 'msg_1')
      for (const id of ['msg_1', 'msg_1', 'msg_2', 'msg_first', 'msg_unknown']) await store.cancelItem(W, 'ses_1', id)
      await store.selectAgent(W, 'ses_1', 'plan')
    })
    assert.deepEqual(
      events.map(({ event }) => plain(event)),
      [
        { case: 'inboxCancelled', value: { messageId: 'msg_1' } },
        { case: 'inboxCancelled', value: { messageId: 'msg_2' } },
        { case: 'agentSelected', value: { agent: 'plan' } },
      ],
    )
    assert.deepEqual(await waiting(fixture), ['msg_3 steer'])
    assert.deepEqual(names((await store.promote(lease, 'idle')).messages), ['msg_3'])
    assert.equal((await get(store)).directory, '/project')
  })

  test('a cancelled input keeps its id: it is refused when it is sent again, and wakes no run', async (fixture) => {
    const { store } = fixture
    await store.createSession(W, newSession())
    await store.createSession(W, newSession('ses_2'))
    const again = [
      () => store.admit(W, admission('msg_prompt')),
      () => store.admit(W, syntheticAdmission('msg_synthetic', { text: 'Hi' })),
      () => store.moveSession(W, moveAdmission('msg_move')),
    ]
    const ids = ['msg_prompt', 'msg_synthetic', 'msg_move']
    for (const admit of again) await admit()
    // One after the other, and in one batch.
    await store.cancelItem(W, 'ses_1', 'msg_prompt')
    const rest = ids.slice(1).map((id) => store.cancelItem(W, 'ses_1', id))
    await store.requestInterrupt(W, 'ses_1')
    const refused = again.map((admit, i) =>
      assert.rejects(admit(), refusal('INBOX_ITEM_CANCELLED', { message_id: ids[i] ?? '' }), ids[i]),
    )
    await Promise.all([...rest, ...refused])
    const other = store.admit(W, admission('msg_prompt', { text: 'other' }))
    await assert.rejects(other, refusal('INBOX_ITEM_CANCELLED'))
    const elsewhere = store.admit(W, admission('msg_prompt', { sessionId: 'ses_2' }))
    await assert.rejects(elsewhere, refusal('PROMPT_CONFLICT'))
    assert.equal(await store.isBusy(W, 'ses_1'), false)
    assert.deepEqual([await waiting(fixture), names(await messages(store))], [[], []])
  })

  test('an input that is cancelled and sent again concurrently is refused', async (fixture) => {
    const { store } = fixture
    await store.createSession(W, newSession())
    await store.admit(W, admission('msg_1', { wake: false }))
    const cancelled = store.cancelItem(W, 'ses_1', 'msg_1')
    await assert.rejects(store.admit(W, admission('msg_1')), refusal('INBOX_ITEM_CANCELLED'))
    await cancelled
    assert.equal(await store.isBusy(W, 'ses_1'), false)
  })

  test('changes that are made at once see each other', async (fixture) => {
    const { store } = fixture
    await begin(fixture)
    await admit(store, Delivery.QUEUE, 'msg_1', 'msg_2')
    const changed = await Promise.all([
      store.changeDelivery(W, 'ses_1', 'msg_1', Delivery.STEER),
      store.changeDelivery(W, 'ses_1', 'msg_1', Delivery.STEER),
      store.cancelItem(W, 'ses_1', 'msg_1').then(() => store.changeDelivery(W, 'ses_1', 'msg_1', Delivery.QUEUE)),
      store.cancelItem(W, 'ses_1', 'msg_2'),
      store.changeDelivery(W, 'ses_1', 'msg_2', Delivery.STEER),
    ])
    assert.deepEqual(changed, [undefined, 'same', 'cancelled', undefined, 'cancelled'])
    assert.deepEqual(await waiting(fixture), [])
  })

  test('an item is delivered or cancelled, never both, and no change of its delivery comes after either', async (fixture) => {
    const { store } = fixture
    const lease = await begin(fixture)
    for (let round = 0; round < 8; round++) {
      const id = `msg_${round}`
      await admit(store, Delivery.QUEUE, id)
      const works = [
        () => store.promote(lease, 'idle'),
        () => store.cancelItem(W, 'ses_1', id),
        () => store.changeDelivery(W, 'ses_1', id, Delivery.STEER),
      ]
      const order = [works[round % 3], works[(round + 1) % 3], works[(round + 2) % 3]]
      await Promise.all(order.map((work) => work?.()))
    }
    const { events } = await store.listEvents(W, 'ses_1', { afterSeq: 0, limit: 1_000 })
    for (let round = 0; round < 8; round++) {
      const of = events.flatMap(({ event }) =>
        event.value !== undefined && 'messageId' in event.value && event.value.messageId === `msg_${round}`
          ? [event.case]
          : [],
      )
      const ends = of.filter((type) => type === 'inboxDelivered' || type === 'inboxCancelled')
      assert.deepEqual([ends.length, of.at(-1)], [1, ends[0]], JSON.stringify(of))
    }
    const delivered = names((await messages(store)).slice(1))
    assert.equal(delivered.length, events.filter(({ event }) => event.case === 'inboxDelivered').length - 1)
    assert.deepEqual(await waiting(fixture), [])
  })

  test('an id is a conflict where it names an item of another type', async (fixture) => {
    const { store } = fixture
    await begin(fixture)
    await admit(store, Delivery.QUEUE, 'msg_prompt')
    await store.admit(W, syntheticAdmission('msg_synthetic', { text: 'Hi' }))
    await store.moveSession(W, moveAdmission('msg_move'))
    const digest = 'the same'
    await store.admit(W, { ...syntheticAdmission('msg_digest', { text: 'Hi' }), digest })
    await assert.rejects(store.admit(W, admission('msg_digest', { digest })), refusal('PROMPT_CONFLICT'))
    for (const id of ['msg_synthetic', 'msg_move']) {
      await assert.rejects(store.admit(W, admission(id)), refusal('PROMPT_CONFLICT'), id)
    }
    for (const id of ['msg_prompt', 'msg_move', 'msg_first']) {
      const admitted = store.admit(W, syntheticAdmission(id, { text: 'Hi' }))
      await assert.rejects(admitted, refusal('PROMPT_CONFLICT'), id)
    }
    const again = await store.admit(W, syntheticAdmission('msg_synthetic', { text: 'Hi' }))
    assert.equal(again.messageId, 'msg_synthetic')
    assert.equal((await store.inbox(W, 'ses_1', 0, 100)).length, 4)
    assert.deepEqual(names(await messages(store)), ['msg_first'])
  })
}
