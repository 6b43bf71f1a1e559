import assert from 'node:assert/strict'
import { PermissionRule_Effect } from '#gen/portico/catalog/v1/catalog_pb.js'
import { Delivery, Outcome, PermissionReply } from '#gen/portico/session/v1/session_pb.js'
import {
  acquire,
  admit,
  begin,
  newSession,
  OTHER,
  plain,
  refusal,
  request,
  type StoreTest,
  W,
} from './session-store.support.ts'
import { eventsOf } from './session-store.tail.ts'

const once = { reply: PermissionReply.ONCE, message: '' } as const

/** Permission requests and approvals. */
export function permissionCases(test: StoreTest): void {
  test('a request waits, is listed oldest first, and is announced', async (fixture) => {
    const { store } = fixture
    const lease = await begin(fixture)
    const { fence } = lease
    const first = request('per_b', { fence })
    const [event] = await eventsOf(store, 1, () => store.requestPermission(lease, request('per_b')))
    assert.deepEqual(plain(event?.event), plain({ case: 'permissionAsked', value: { request: first } }))
    const second = request('per_a', { fence, createTime: request('').createTime + 1 })
    await store.requestPermission(lease, second)
    assert.deepEqual(await store.listPermissionRequests(W), [first, second])
    assert.deepEqual(await store.listPermissionRequests(W, 'ses_1'), [first, second])
    assert.deepEqual(await store.listPermissionRequests(W, 'ses_2'), [])
    assert.deepEqual(await store.listPermissionRequests(OTHER), [])
    assert.equal(await store.readPermissionAnswer(lease, 'per_a'), undefined)
  })

  test('all waiting requests are found in batches, oldest first, however many there are', async (fixture) => {
    const { store } = fixture
    const lease = await begin(fixture)
    const { createTime } = request('')
    // Most of them at the same time.
    const all = Array.from({ length: 600 }, (_, i) => request(`per_${i}`, { createTime: createTime + (i % 2) }))
    await Promise.all(all.map((each) => store.requestPermission(lease, each)))
    await store.replyPermission(W, 'ses_1', 'per_300', once)
    const found = (await Array.fromAsync(store.waitingRequests(W))).flat()
    assert.deepEqual(
      found.map(({ requestId }) => requestId).sort(),
      all
        .map(({ requestId }) => requestId)
        .filter((id) => id !== 'per_300')
        .sort(),
    )
    assert.ok(found.every((each, i) => i === 0 || each.createTime >= (found[i - 1]?.createTime ?? 0)))
    assert.deepEqual((await Array.fromAsync(store.waitingRequests(OTHER))).flat(), [])
  })

  test('an unreadable request does not affect others', async (fixture) => {
    const lease = await begin(fixture)
    for (const id of ['per_1', 'per_2', 'per_3']) await fixture.store.requestPermission(lease, request(id))
    await fixture.damage('requests', 'per_1', 'data')
    await fixture.damage('requests', 'per_3', 'data', 'null')
    const { store } = fixture
    const others = [request('per_2', { fence: lease.fence })]
    assert.deepEqual(await store.listPermissionRequests(W), others)
    assert.deepEqual(await store.listPermissionRequests(W, 'ses_1'), others)
    assert.deepEqual((await Array.fromAsync(store.waitingRequests(W))).flat(), others)
    // A store that was opened again for the damage has no leases.
    const newest = (await store.acquireLease('own_2', fixture.longMs)) ?? lease
    await store.requestPermission(newest, request('per_4'))
    await store.replyPermission(W, 'ses_1', 'per_4', once)
    const gone = refusal('PERMISSION_REQUEST_NOT_FOUND', { request_id: 'per_1' })
    await assert.rejects(store.replyPermission(W, 'ses_1', 'per_1', once), gone)
  })

  test('an answer is read by the owner with its words, and answers only once', async (fixture) => {
    const { store } = fixture
    const lease = await begin(fixture)
    await store.requestPermission(lease, request('per_1'))
    const answer = { reply: PermissionReply.REJECT, message: 'use the other file' } as const
    const [event] = await eventsOf(store, 1, () => store.replyPermission(W, 'ses_1', 'per_1', answer))
    const value = { requestId: 'per_1', reply: PermissionReply.REJECT }
    assert.deepEqual(plain(event?.event), { case: 'permissionReplied', value })
    assert.deepEqual(await store.readPermissionAnswer(lease, 'per_1'), answer)
    const gone = refusal('PERMISSION_REQUEST_NOT_FOUND', { request_id: 'per_1' })
    await assert.rejects(store.replyPermission(W, 'ses_1', 'per_1', once), gone)
    assert.deepEqual(await store.readPermissionAnswer(lease, 'per_1'), answer)
    assert.deepEqual(await store.listPermissionRequests(W), [])
  })

  test('counts one of two answers that come at once', async (fixture) => {
    const { store } = fixture
    const lease = await begin(fixture)
    await store.requestPermission(lease, request('per_1'))
    const answers = [
      once,
      { reply: PermissionReply.ALWAYS, message: '' },
      { reply: PermissionReply.REJECT, message: 'no' },
    ] as const
    const outcomes = await Promise.allSettled(
      answers.map((answer) => store.replyPermission(W, 'ses_1', 'per_1', answer)),
    )
    assert.equal(outcomes.filter(({ status }) => status === 'fulfilled').length, 1)
    assert.deepEqual(
      await store.readPermissionAnswer(lease, 'per_1'),
      answers[outcomes.findIndex(({ status }) => status === 'fulfilled')],
    )
  })

  test('an unknown request is not found, nor is one of another session', async (fixture) => {
    const { store } = fixture
    const lease = await begin(fixture)
    await store.createSession(W, newSession('ses_2'))
    await store.requestPermission(lease, request('per_1'))
    const gone = refusal('PERMISSION_REQUEST_NOT_FOUND')
    await assert.rejects(store.replyPermission(W, 'ses_1', 'per_9', once), gone)
    await assert.rejects(store.replyPermission(W, 'ses_2', 'per_1', once), gone)
    await assert.rejects(store.readPermissionAnswer(lease, 'per_9'), gone)
    await assert.rejects(store.closePermission(lease, 'per_9', PermissionReply.REJECT), gone)
  })

  test('a request of an older owner accepts no answer, settled or not; one of the new owner does', async (fixture) => {
    const { store, shortMs, longMs } = fixture
    const lease = await begin(fixture, shortMs)
    await store.requestPermission(lease, request('per_1'))
    await fixture.outlast()
    const gone = refusal('PERMISSION_REQUEST_NOT_FOUND', { request_id: 'per_1' })
    await assert.rejects(store.replyPermission(W, 'ses_1', 'per_1', once), gone)
    const next = await acquire(store, longMs, 'own_2')
    for (const reply of [PermissionReply.ONCE, PermissionReply.ALWAYS, PermissionReply.REJECT] as const) {
      await assert.rejects(store.replyPermission(W, 'ses_1', 'per_1', { reply, message: '' }), gone)
    }
    assert.equal(await store.readPermissionAnswer(next, 'per_1'), undefined)
    await store.requestPermission(next, request('per_2'))
    await store.replyPermission(W, 'ses_1', 'per_2', { reply: PermissionReply.REJECT, message: 'no' })
    assert.equal(await store.readPermissionAnswer(next, 'per_1'), undefined, 'nor is it rejected with others')
    await store.settleAborted(next)
    await assert.rejects(store.replyPermission(W, 'ses_1', 'per_1', once), gone)
  })

  test('the session of a request is found while the request waits, and only in its workspace', async (fixture) => {
    const { store, clock } = fixture
    const lease = await begin(fixture)
    await store.requestPermission(lease, request('per_1'))
    await store.requestPermission(lease, request('per_2', { expireTime: clock.now() + 10 }))
    assert.equal(await store.sessionOfRequest(W, 'per_1'), 'ses_1')
    assert.equal(await store.sessionOfRequest(W, 'per_2'), 'ses_1')
    assert.equal(await store.sessionOfRequest(W, 'per_9'), undefined)
    assert.equal(await store.sessionOfRequest(OTHER, 'per_1'), undefined)
    await store.replyPermission(W, 'ses_1', 'per_1', once)
    clock.advance(10)
    assert.equal(await store.sessionOfRequest(W, 'per_1'), undefined)
    assert.equal(await store.sessionOfRequest(W, 'per_2'), undefined)
  })

  test('`always` saves its patterns for the project, `once` saves nothing', async (fixture) => {
    const { store } = fixture
    const lease = await begin(fixture)
    await store.requestPermission(lease, request('per_1'))
    await store.requestPermission(lease, request('per_2'))
    await store.requestPermission(lease, request('per_3', { action: 'bash', savePatterns: ['src/*'] }))
    await store.replyPermission(W, 'ses_1', 'per_1', once)
    assert.deepEqual(await store.savedApprovals(W, 'prj_1'), [])
    await store.replyPermission(W, 'ses_1', 'per_2', { reply: PermissionReply.ALWAYS, message: '' })
    await store.replyPermission(W, 'ses_1', 'per_3', { reply: PermissionReply.ALWAYS, message: '' })
    const rules = (await store.savedApprovals(W, 'prj_1')).map(plain)
    assert.deepEqual(
      rules.toSorted((a, b) => (a.action + a.resource < b.action + b.resource ? -1 : 1)),
      [
        { action: 'bash', resource: 'src/*', effect: PermissionRule_Effect.ALLOW },
        { action: 'edit', resource: 'src/*', effect: PermissionRule_Effect.ALLOW },
        { action: 'edit', resource: 'test/*', effect: PermissionRule_Effect.ALLOW },
      ],
    )
    assert.deepEqual(await store.savedApprovals(W, 'prj_2'), [])
    assert.deepEqual(await store.savedApprovals(OTHER, 'prj_1'), [])
  })

  test('makes no second rule of the same approval', async (fixture) => {
    const { store } = fixture
    const lease = await begin(fixture)
    for (const id of ['per_1', 'per_2']) {
      await store.requestPermission(lease, request(id))
      await store.replyPermission(W, 'ses_1', id, { reply: PermissionReply.ALWAYS, message: '' })
    }
    assert.equal((await store.savedApprovals(W, 'prj_1')).length, 2)
  })

  test('`reject` rejects the other waiting requests of the session too', async (fixture) => {
    const { store } = fixture
    const lease = await begin(fixture)
    for (const id of ['per_0', 'per_1', 'per_2']) await store.requestPermission(lease, request(id))
    await store.replyPermission(W, 'ses_1', 'per_0', once)
    const events = await eventsOf(store, 2, () =>
      store.replyPermission(W, 'ses_1', 'per_2', { reply: PermissionReply.REJECT, message: 'no' }),
    )
    assert.deepEqual(
      events.map(({ event }) => event.case === 'permissionReplied' && [event.value.requestId, event.value.reply]),
      [
        ['per_2', PermissionReply.REJECT],
        ['per_1', PermissionReply.REJECT],
      ],
    )
    assert.deepEqual(await store.readPermissionAnswer(lease, 'per_0'), once)
    assert.deepEqual(await store.readPermissionAnswer(lease, 'per_1'), { reply: PermissionReply.REJECT, message: 'no' })
  })

  test('a rejection without a message parks waiting inputs, and none that are admitted later', async (fixture) => {
    const { store, longMs } = fixture
    const lease = await begin(fixture)
    for (const id of ['per_0', 'per_1']) await store.requestPermission(lease, request(id))
    await admit(store, Delivery.QUEUE, 'msg_q')
    await store.closePermission(lease, 'per_0', PermissionReply.REJECT)
    await store.replyPermission(W, 'ses_1', 'per_1', { reply: PermissionReply.REJECT, message: '' })
    await store.endRun(lease, Outcome.INTERRUPTED)
    assert.equal(await store.isBusy(W, 'ses_1'), false)
    await admit(store, Delivery.QUEUE, 'msg_after')
    const next = await acquire(store, longMs)
    await store.promote(next, 'idle')
    await store.requestPermission(next, request('per_2'))
    await store.replyPermission(W, 'ses_1', 'per_2', { reply: PermissionReply.REJECT, message: 'read it first' })
    await store.endRun(next, Outcome.SUCCEEDED)
    assert.equal(await store.isBusy(W, 'ses_1'), true, 'one with a message parks nothing')
  })

  test('an expired request has no answer until it is closed, is not listed, and can no longer be answered', async (fixture) => {
    const { store, clock } = fixture
    const lease = await begin(fixture)
    await store.requestPermission(lease, request('per_1', { expireTime: clock.now() + 10 }))
    clock.advance(10)
    assert.deepEqual(await store.listPermissionRequests(W), [])
    assert.equal(await store.readPermissionAnswer(lease, 'per_1'), undefined)
    const gone = refusal('PERMISSION_REQUEST_NOT_FOUND')
    await assert.rejects(store.replyPermission(W, 'ses_1', 'per_1', once), gone)
    const [event] = await eventsOf(store, 1, async () => {
      assert.equal(await store.closePermission(lease, 'per_1', PermissionReply.REJECT), true)
    })
    const value = { requestId: 'per_1', reply: PermissionReply.REJECT }
    assert.deepEqual(plain(event?.event), { case: 'permissionReplied', value })
    assert.deepEqual(await store.readPermissionAnswer(lease, 'per_1'), { reply: PermissionReply.REJECT, message: '' })
  })

  test('an answer that was given in time is read and kept after the time is over', async (fixture) => {
    const { store, clock } = fixture
    const lease = await begin(fixture)
    await store.requestPermission(lease, request('per_1', { expireTime: clock.now() + 10 }))
    await store.replyPermission(W, 'ses_1', 'per_1', once)
    clock.advance(10)
    assert.deepEqual(await store.readPermissionAnswer(lease, 'per_1'), once)
    assert.equal(await store.closePermission(lease, 'per_1', PermissionReply.REJECT), false)
    assert.deepEqual(await store.readPermissionAnswer(lease, 'per_1'), once)
  })

  test('closing an answered request changes nothing', async (fixture) => {
    const { store } = fixture
    const lease = await begin(fixture)
    await store.requestPermission(lease, request('per_1'))
    await store.replyPermission(W, 'ses_1', 'per_1', once)
    const [event] = await eventsOf(store, 1, async () => {
      assert.equal(await store.closePermission(lease, 'per_1', PermissionReply.REJECT), false)
      await store.endRun(lease, Outcome.SUCCEEDED)
    })
    assert.equal(event?.event.case, 'executionEnded')
    assert.deepEqual(await store.listPermissionRequests(W), [])
  })
}
