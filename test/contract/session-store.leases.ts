import assert from 'node:assert/strict'
import { Delivery, Outcome, PermissionReply } from '#gen/portico/session/v1/session_pb.js'
import { structuredError } from '#services/session/domain/structured-error.ts'
import type { Lease } from '#services/session/ports/lease.ts'
import type { UseCases } from '#test/support/session-use-cases.ts'
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
  OTHER,
  plain,
  refusal,
  request,
  type StoreTest,
  stale,
  W,
} from './session-store.support.ts'

/** Everything that is done under a lease, except releasing it. */
const leased: Readonly<Record<string, (store: UseCases, lease: Lease) => Promise<unknown>>> = {
  renewLease: (store, lease) => store.renewLease(lease, 1_000),
  settleAborted: (store, lease) => store.settleAborted(lease),
  readLeased: (store, lease) => store.readLeased(lease),
  readTranscript: (store, lease) => store.readTranscript(lease, 0),
  lastAdmitter: (store, lease) => store.lastAdmitter(lease),
  promote: (store, lease) => store.promote(lease, 'idle'),
  recordStep: (store, lease) => store.recordStep(lease, { message: assistant('msg_step'), events: [] }),
  requestPermission: (store, lease) => store.requestPermission(lease, request('per_new')),
  readPermissionAnswer: (store, lease) => store.readPermissionAnswer(lease, 'per_1'),
  closePermission: (store, lease) => store.closePermission(lease, 'per_1', PermissionReply.REJECT),
  endRun: (store, lease) => store.endRun(lease, Outcome.SUCCEEDED),
  abandonRun: (store, lease) => store.abandonRun(lease, structuredError('internal', '')),
}

async function refusesAll(store: UseCases, lease: Lease): Promise<void> {
  const before = [await get(store), await messages(store), await store.listPermissionRequests(W)]
  for (const [name, call] of Object.entries(leased)) {
    await assert.rejects(call(store, lease), refusal('LEASE_LOST', { session_id: 'ses_1' }), name)
  }
  await store.releaseLease(lease)
  assert.deepEqual([await get(store), await messages(store), await store.listPermissionRequests(W)], before)
}

/** Leases and fences. */
export function leaseCases(test: StoreTest): void {
  test('a lease is given for a due session, and no second one while it lives', async ({ store, longMs }) => {
    assert.equal(await store.acquireLease('own_1', longMs), undefined)
    await store.createSession(W, newSession())
    assert.equal(await store.acquireLease('own_1', longMs), undefined, 'a new session has no work')
    await admit(store, Delivery.STEER, 'msg_1')
    const lease = await acquire(store, longMs)
    assert.deepEqual(lease, {
      workspace: W,
      sessionId: 'ses_1',
      fence: lease.fence,

      unfinished: false,
      acquisitions: 1,
      heldUntil: 0,
    })
    await admit(store, Delivery.STEER, 'msg_2')
    assert.equal(await store.acquireLease('own_2', longMs), undefined)
    assert.deepEqual(await store.listActive(W), ['ses_1'])
    assert.deepEqual(await store.listActive(OTHER), [])
  })

  test('concurrent callers never acquire the same session, and get all of them', async ({ store, longMs }) => {
    const ids = Array.from({ length: 6 }, (_, i) => `ses_${i}`)
    for (const id of ids) {
      await store.createSession(W, newSession(id))
      await store.admit(W, admission(`msg_${id}`, { sessionId: id }))
    }
    const leases = await Promise.all(Array.from({ length: 12 }, (_, i) => store.acquireLease(`own_${i}`, longMs)))
    assert.deepEqual(leases.flatMap((lease) => lease?.sessionId ?? []).toSorted(), ids)
  })

  test('the session that waits longest is given first', async ({ store, clock, longMs }) => {
    for (const id of ['ses_b', 'ses_a', 'ses_c']) {
      await store.createSession(W, newSession(id))
      await store.admit(W, admission(`msg_${id}`, { sessionId: id }))
      clock.advance(1)
      await new Promise((resolve) => setTimeout(resolve, 2))
    }
    const order = [await acquire(store, longMs), await acquire(store, longMs), await acquire(store, longMs)]
    assert.deepEqual(
      order.map(({ sessionId }) => sessionId),
      ['ses_b', 'ses_a', 'ses_c'],
    )
  })

  test('sessions of workspaces that are excepted are passed over, and stay where they are', async ({
    store,
    longMs,
  }) => {
    for (const workspace of [W, OTHER, 'wrk_third']) {
      await store.createSession(workspace, newSession())
      await store.admit(workspace, admission('msg_1'))
      await new Promise((resolve) => setTimeout(resolve, 2))
    }
    const taken = async (...except: string[]) => (await store.acquireLease('own_1', longMs, except))?.workspace
    assert.equal(await taken(W, OTHER, 'wrk_third'), undefined)
    assert.equal(await taken(W, 'wrk_unknown'), OTHER)
    assert.equal(await taken(W, 'wrk_third'), undefined)
    assert.equal(await taken(), W)
    assert.equal(await taken(), 'wrk_third')
  })

  test('a lease that has run out is refused, and the next owner learns of the unfinished run', async (fixture) => {
    const { store, shortMs, longMs } = fixture
    const lease = await begin(fixture, shortMs)
    await fixture.outlast()
    await refusesAll(store, lease)
    assert.deepEqual(await store.listActive(W), [])
    assert.equal(await store.isBusy(W, 'ses_1'), true)
    const next = await acquire(store, longMs, 'own_2')
    assert.ok(next.fence > lease.fence)
    assert.equal(next.unfinished, true)
  })

  test('an older fence is refused after a takeover', async (fixture) => {
    const { store, longMs } = fixture
    const first = await begin(fixture)
    await store.requestPermission(first, request('per_1'))
    await store.releaseLease(first)
    const second = await acquire(store, longMs, 'own_2')
    await refusesAll(store, first)
    await refusesAll(store, stale(second))
    assert.equal(await store.acquireLease('own_3', longMs), undefined, 'an old owner gives nothing back')
    await store.recordStep(second, { message: assistant('msg_step'), events: [] })
  })

  test('a lease that was given back is refused', async (fixture) => {
    const lease = await begin(fixture)
    await fixture.store.releaseLease(lease)
    await refusesAll(fixture.store, lease)
  })

  test('a lease is over when its run has ended with nothing due', async (fixture) => {
    const lease = await begin(fixture)
    await fixture.store.endRun(lease, Outcome.SUCCEEDED)
    await refusesAll(fixture.store, lease)
  })

  test('a renewed lease lives on', async (fixture) => {
    const { store, shortMs, longMs } = fixture
    const lease = await begin(fixture, shortMs)
    assert.deepEqual(await store.renewLease(lease, longMs), { interruptRequested: false })
    await fixture.outlast()
    assert.equal(await store.acquireLease('own_2', longMs), undefined)
    await store.recordStep(lease, { message: assistant('msg_step'), events: [] })
  })

  test('a renewed lease that runs out leaves the run for the next owner', async (fixture) => {
    const { store, shortMs, longMs } = fixture
    await store.renewLease(await begin(fixture), shortMs)
    await fixture.outlast()
    assert.equal((await acquire(store, longMs, 'own_2')).unfinished, true)
  })

  test('giving a lease back leaves the run for the next owner', async (fixture) => {
    const { store, longMs } = fixture
    await store.releaseLease(await begin(fixture))
    assert.equal(await store.isBusy(W, 'ses_1'), true)
    const lease = await acquire(store, longMs, 'own_2')
    assert.equal(lease.unfinished, true)
    assert.deepEqual(names(await store.readTranscript(lease, 0)), ['msg_first'])
  })

  test('leases, renewals and releases do not move a session up', async (fixture) => {
    const { store, clock, longMs } = fixture
    const lease = await begin(fixture)
    const before = await get(store)
    clock.advance(100)
    await store.renewLease(lease, longMs)
    await store.releaseLease(lease)
    assert.deepEqual(await get(store), before)
  })

  test('acquisitions are counted until the session gets on, and a lease that was given back is none', async (fixture) => {
    const { store, shortMs, longMs } = fixture
    const acquisitions: number[] = []
    const lose = async (): Promise<Lease> => {
      const lease = await acquire(store, shortMs)
      acquisitions.push(lease.acquisitions)
      await fixture.outlast()
      return lease
    }
    let lease = await begin(fixture, shortMs)
    await fixture.outlast()
    await lose()
    await store.releaseLease(await lose())
    lease = await acquire(store, longMs)
    acquisitions.push(lease.acquisitions)
    await store.recordStep(lease, { message: assistant('msg_step'), events: [] })
    const error = structuredError('aborted', '')
    await store.recordStep(lease, { message: assistant('msg_step', { error, completeTime: 1 }), events: [] })
    await store.releaseLease(lease)
    await store.releaseLease(lease)
    lease = await acquire(store, longMs)
    acquisitions.push(lease.acquisitions)
    await store.recordStep(lease, { message: assistant('msg_next', { completeTime: 1 }), events: [] })
    await store.releaseLease(lease)
    await lose()
    lease = await acquire(store, longMs)
    acquisitions.push(lease.acquisitions)
    await store.endRun(lease, Outcome.FAILED)
    await admit(store, Delivery.STEER, 'msg_more')
    acquisitions.push((await acquire(store, longMs)).acquisitions)
    assert.deepEqual(acquisitions, [2, 3, 3, 3, 1, 2, 1])
  })

  test('an owner reads the session as it is now', async (fixture) => {
    const { store } = fixture
    const lease = await begin(fixture)
    await store.selectAgent(W, 'ses_1', 'plan')
    const read = await store.readLeased(lease)
    assert.deepEqual(plain(read), plain({ session: await get(store), interruptRequested: false }))
  })
}
