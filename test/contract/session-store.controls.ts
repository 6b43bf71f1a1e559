import assert from 'node:assert/strict'
import { create } from '@bufbuild/protobuf'
import {
  Delivery,
  Outcome,
  type Session,
  type SessionLocation,
  SessionLocationSchema,
} from '#gen/portico/session/v1/session_pb.js'
import { messageOf } from '#services/session/domain/message.ts'
import {
  acquire,
  admission,
  admit,
  begin,
  get,
  listed,
  messages,
  moveAdmission,
  names,
  newSession,
  plain,
  type StoreTest,
  syntheticAdmission,
  W,
} from './session-store.support.ts'
import { eventsOf } from './session-store.tail.ts'

const there = create(SessionLocationSchema, { directory: '/other', projectId: 'prj_2', subpath: 'a/b' })
const here = create(SessionLocationSchema, { directory: '/project', projectId: 'prj_1', subpath: '' })

function locationOf({ directory, projectId, subpath }: Session): SessionLocation {
  return create(SessionLocationSchema, { directory, projectId, subpath })
}

/** Synthetic texts and moves: how they enter the conversation. */
export function controlCases(test: StoreTest): void {
  test('a synthetic text becomes a message with its event', async (fixture) => {
    const { store, clock } = fixture
    const lease = await begin(fixture)
    const synthetic = { text: 'A build failed \u0000', description: 'CI', metadata: { $a: 1 } }
    await store.admit(W, syntheticAdmission('msg_1', synthetic))
    const events = await eventsOf(store, 2, () => store.promote(lease, 'step'))
    assert.deepEqual(
      events.map(({ event }) => plain(event)),
      [
        { case: 'inboxDelivered', value: { messageId: 'msg_1' } },
        { case: 'syntheticAdded', value: { messageId: 'msg_1', synthetic } },
      ],
    )
    const stored = await store.getMessage(W, 'ses_1', 'msg_1')
    const kind = { case: 'synthetic', value: plain(synthetic) }
    assert.deepEqual(plain(stored?.message), { messageId: 'msg_1', createTime: clock.now(), kind })
  })

  test('a move is applied with its message and events, and is no input', async (fixture) => {
    const { store, clock } = fixture
    const lease = await begin(fixture)
    const [enqueued] = await eventsOf(store, 1, () => store.moveSession(W, moveAdmission('msg_1', { move: there })))
    assert.deepEqual(plain(enqueued?.event), {
      case: 'inboxEnqueued',
      value: {
        item: {
          messageId: 'msg_1',
          sessionId: 'ses_1',
          createTime: clock.now(),
          delivery: Delivery.STEER,
          payload: { case: 'move', value: plain(there) },
        },
      },
    })
    assert.deepEqual(locationOf(await get(store)), here)
    clock.advance(5)
    const events = await eventsOf(store, 2, () => store.promote(lease, 'step'))
    assert.deepEqual(
      events.map(({ event, directory }) => [plain(event), directory]),
      [
        [{ case: 'inboxDelivered', value: { messageId: 'msg_1' } }, '/project'],
        [{ case: 'sessionMoved', value: { location: plain(there) } }, '/other'],
      ],
    )
    const head = { messageId: 'msg_1', createTime: clock.now() }
    const stored = await store.getMessage(W, 'ses_1', 'msg_1')
    const switched = messageOf(head, 'locationSwitched', { location: there, previous: here })
    assert.deepEqual(stored?.message, switched)
    const session = await get(store)
    assert.deepEqual([locationOf(session), session.updateTime], [there, clock.now()])
    const ids = async (filter: object) => (await listed(store, filter)).map(({ sessionId }) => sessionId)
    assert.deepEqual(await ids({ directory: '/other' }), ['ses_1'])
    assert.deepEqual(await ids({ directory: '/project' }), [])
    assert.deepEqual(await ids({ projectId: 'prj_2', subpath: 'a/b' }), ['ses_1'])
  })

  test('a move splits promotion: inputs before it, the move alone, inputs after it', async (fixture) => {
    const { store } = fixture
    const lease = await begin(fixture)
    await admit(store, Delivery.QUEUE, 'msg_q1')
    await admit(store, Delivery.STEER, 'msg_s1')
    await store.moveSession(W, moveAdmission('msg_m1'))
    await store.moveSession(W, moveAdmission('msg_m2'))
    await store.admit(W, syntheticAdmission('msg_s2', { text: 'Hi' }))
    await admit(store, Delivery.STEER, 'msg_s3')
    const step = async () => (await store.promote(lease, 'step')).messages.map(({ message }) => message.messageId)
    assert.deepEqual(await step(), ['msg_s1'])
    assert.deepEqual(await step(), ['msg_m1'])
    assert.deepEqual(await step(), ['msg_m2'])
    assert.deepEqual(await step(), ['msg_s2', 'msg_s3'])
    assert.deepEqual(await step(), [])
    assert.deepEqual(names((await store.promote(lease, 'idle')).messages), ['msg_q1'])
  })

  test('at an idle boundary a queued item is in order with the move, and a queued move waits for its turn', async (fixture) => {
    const { store } = fixture
    const lease = await begin(fixture)
    await admit(store, Delivery.QUEUE, 'msg_q1')
    await store.moveSession(W, moveAdmission('msg_m1'))
    await store.moveSession(W, moveAdmission('msg_m2', { delivery: Delivery.QUEUE }))
    await admit(store, Delivery.STEER, 'msg_s1')
    const idle = async () => (await store.promote(lease, 'idle')).messages.map(({ message }) => message.messageId)
    assert.deepEqual(await idle(), ['msg_q1'])
    assert.deepEqual(await idle(), ['msg_m1'])
    assert.deepEqual(await idle(), ['msg_m2'])
    assert.deepEqual(await idle(), ['msg_s1'])
  })

  test('a move alone begins no run, and the session is at rest after it', async ({ store, longMs }) => {
    await store.createSession(W, newSession())
    await store.moveSession(W, moveAdmission('msg_1', { move: there }))
    assert.equal(await store.isBusy(W, 'ses_1'), true)
    const lease = await acquire(store, longMs)
    assert.deepEqual((await store.beginStep(lease)).next, { type: 'boundary' })
    assert.equal((await store.beginStep(lease)).next, undefined)
    await store.endRun(lease, Outcome.SUCCEEDED)
    const session = await get(store)
    assert.deepEqual([locationOf(session), session.outcome, session.idleTime], [there, undefined, undefined])
    assert.deepEqual(names(await messages(store)), ['locationSwitched'])
    assert.equal(await store.isBusy(W, 'ses_1'), false)
    assert.equal(await store.acquireLease('own_1', longMs), undefined)
  })

  test('an input that begins a run after a move begins it in the new location', async ({ store, longMs }) => {
    await store.createSession(W, newSession())
    await store.moveSession(W, moveAdmission('msg_1', { move: there }))
    await admit(store, Delivery.STEER, 'msg_2')
    const lease = await acquire(store, longMs)
    await store.beginStep(lease)
    const { session, next } = await store.beginStep(lease)
    assert.deepEqual([locationOf(session), next], [there, { type: 'step' }])
  })

  test('no move is applied to a run that is to be interrupted, and none that was parked', async (fixture) => {
    const { store, longMs } = fixture
    const lease = await begin(fixture)
    await store.moveSession(W, moveAdmission('msg_1', { move: there }))
    await store.requestInterrupt(W, 'ses_1')
    assert.deepEqual((await store.promote(lease, 'step')).messages, [])
    await store.endRun(lease, Outcome.INTERRUPTED)
    assert.equal(await store.acquireLease('own_1', longMs), undefined)
    assert.deepEqual(locationOf(await get(store)), here)
    await admit(store, Delivery.STEER, 'msg_2')
    const next = await acquire(store, longMs)
    assert.deepEqual(names((await store.promote(next, 'idle')).messages), ['locationSwitched'])
    assert.deepEqual(names((await store.promote(next, 'idle')).messages), ['msg_2'])
  })

  test('a session at rest that is stranded moves at once, without its older moves, and wakes', async (fixture) => {
    const { store, longMs } = fixture
    await store.createSession(W, newSession())
    await store.admit(W, admission('msg_p', { wake: false }))
    await store.moveSession(W, moveAdmission('msg_m1'))
    await store.moveSession(W, moveAdmission('msg_m2', { delivery: Delivery.QUEUE }))
    await store.requestInterrupt(W, 'ses_1')
    const events = await eventsOf(store, 3, () => store.moveSession(W, moveAdmission('msg_m3', { move: there }), true))
    assert.deepEqual(
      events.map(({ event }) => plain(event)),
      [
        { case: 'inboxCancelled', value: { messageId: 'msg_m1' } },
        { case: 'inboxCancelled', value: { messageId: 'msg_m2' } },
        { case: 'sessionMoved', value: { location: plain(there) } },
      ],
    )
    assert.deepEqual(locationOf(await get(store)), there)
    await store.moveSession(W, moveAdmission('msg_m3', { move: there }), true)
    assert.deepEqual(names(await messages(store)), ['locationSwitched'], 'the same move again is the same')
    const lease = await acquire(store, longMs)
    assert.deepEqual(names((await store.promote(lease, 'idle')).messages), ['msg_p'])
  })

  test('a stranded session that is due, or runs, moves at its boundary', async (fixture) => {
    const { store } = fixture
    await store.createSession(W, newSession())
    await admit(store, Delivery.STEER, 'msg_first')
    await store.moveSession(W, moveAdmission('msg_1', { move: there }), true)
    assert.deepEqual(locationOf(await get(store)), here)
    const lease = await acquire(store, fixture.longMs)
    await store.promote(lease, 'idle')
    await store.moveSession(W, moveAdmission('msg_2', { move: there }), true)
    assert.deepEqual(locationOf(await get(store)), here)
    assert.equal((await store.inbox(W, 'ses_1', 0, 10)).length, 2)
  })
}
