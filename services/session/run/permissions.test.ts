import assert from 'node:assert/strict'
import { test } from 'node:test'
import { PermissionRule_Effect as Effect } from '#gen/portico/catalog/v1/catalog_pb.js'
import {
  Delivery,
  Outcome,
  type PermissionRequest,
  PermissionReply as Reply,
} from '#gen/portico/session/v1/session_pb.js'
import { systemClock } from '#shared/clock.ts'
import { plain } from '#test/support/inference.ts'
import { asKey, eventsUntil, openSessionService, type SessionFixture } from '#test/support/session-service.ts'
import { calls, says, text } from '#test/support/session-turns.ts'
import { waitUntil } from '#test/support/wait-until.ts'

const ASK = { action: 'look', resource: '*', effect: Effect.ASK }
const look = (id: string, path = 'a') => ({ id, name: 'look', input: { path } })

/** A session whose model calls these tools; returns the permission requests that come of it. */
async function asking(service: SessionFixture, ...wanted: Parameters<typeof calls>): Promise<PermissionRequest[]> {
  await service.create()
  service.peers.rules.push(ASK)
  service.peers.turns.push(calls(...wanted))
  await service.prompt('Look')
  return waiting(service, wanted.filter(({ name }) => name === 'look').length)
}

async function waiting(service: SessionFixture, count: number): Promise<PermissionRequest[]> {
  let requests: PermissionRequest[] = []
  const ask = async () => {
    requests = (await service.client.listPermissionRequests({ sessionId: 'ses_1' }, asKey)).requests
    return requests.length === count ? requests : undefined
  }
  return waitUntil(`${count} requests that wait`, ask, () => requests)
}

async function reply(service: SessionFixture, request: PermissionRequest | undefined, answer: Reply, message = '') {
  const requestId = request?.requestId ?? ''
  await service.client.replyPermissionRequest({ sessionId: 'ses_1', requestId, reply: answer, message }, asKey)
}

test('a call that the rules deny is refused without asking, and the model is shown that', async () => {
  await using service = await openSessionService()
  await service.create()
  service.peers.rules.push({ action: 'look', resource: 'secret*', effect: Effect.DENY })
  service.peers.turns.push(calls(look('a', 'secret/x'), look('b', 'open')))
  await service.prompt('Look')
  await service.wait()
  const seen = (await service.calls()).map(({ state, error }) => [state, error?.type])
  assert.deepEqual(seen, [
    [4, 'permission.denied'],
    [3, undefined],
  ])
  assert.equal(service.peers.started.length, 1)
  assert.equal(await service.outcome(), Outcome.SUCCEEDED)
})

test('a call that needs permission waits for it, and the request shows what it is for', async () => {
  await using service = await openSessionService()
  const [request] = await asking(service, look('call_1'))
  const { requestId, messageId, createTime, expireTime, fence: _, ...rest } = request as PermissionRequest
  assert.match(requestId, /^per_/)
  assert.match(messageId, /^msg_/)
  assert.equal(expireTime - createTime, 300_000)
  assert.deepEqual(plain(rest), {
    sessionId: 'ses_1',
    action: 'look',
    resources: ['a'],
    savePatterns: ['a*'],
    callId: 'call_1',
  })
  assert.deepEqual(service.peers.started, [])
  assert.equal((await service.calls())[0]?.state, 2)
  await reply(service, request, Reply.ONCE)
  await service.wait()
  assert.equal((await service.calls())[0]?.state, 3)
})

test('permission that was given once has to be requested again for the next call', async () => {
  await using service = await openSessionService()
  const [request] = await asking(service, look('a'))
  service.peers.turns.push(calls(look('b')))
  await reply(service, request, Reply.ONCE)
  const [again] = await waitFor(service, 'b')
  await reply(service, again, Reply.ONCE)
  await service.wait()
  assert.equal(service.peers.started.length, 2)
})

async function waitFor(service: SessionFixture, callId: string): Promise<PermissionRequest[]> {
  return waitUntil(`a request of the call ${callId}`, async () => {
    const requests = await waiting(service, 1)
    return requests[0]?.callId === callId ? requests : undefined
  })
}

test('permission given for good answers other requests that it covers, and later calls', async () => {
  await using service = await openSessionService()
  const requests = await asking(service, look('a', 'src'), look('b', 'src/x'), look('c', 'doc'))
  service.peers.turns.push(calls(look('d', 'src/y')))
  await reply(
    service,
    requests.find(({ callId }) => callId === 'a'),
    Reply.ALWAYS,
  )
  const [left] = await waitFor(service, 'c')
  await reply(service, left, Reply.ONCE)
  await service.wait()
  assert.equal(service.peers.started.length, 4)
  assert.equal(await service.outcome(), Outcome.SUCCEEDED)
})

test('permission given for good holds in the other sessions of the project', async () => {
  await using service = await openSessionService()
  const [request] = await asking(service, look('a'))
  await reply(service, request, Reply.ALWAYS)
  await service.wait()
  await service.create('ses_2')
  service.peers.turns.push(calls(look('a', 'ab')))
  await service.prompt('Look', { sessionId: 'ses_2' })
  await service.wait('ses_2')
  assert.equal(service.peers.started.length, 2)
})

test('a rejection without a message refuses every waiting call and ends the run', async () => {
  await using service = await openSessionService()
  const [request] = await asking(service, look('a'), look('b'))
  service.peers.turns.push(text('never said'))
  await reply(service, request, Reply.REJECT)
  await service.wait()
  const seen = (await service.calls()).map(({ error }) => error?.type)
  assert.deepEqual(seen, ['permission.rejected', 'permission.rejected'])
  assert.deepEqual(service.peers.started, [])
  assert.equal(service.peers.requests.length, 1)
  assert.equal(await service.outcome(), Outcome.INTERRUPTED)
  assert.ok((await service.steps())[0]?.completeTime, 'the step itself is complete')
})

test('a rejection with a message shows it to the model, and the run goes on', async () => {
  await using service = await openSessionService()
  const [request] = await asking(service, look('a'), look('b'))
  await reply(service, request, Reply.REJECT, 'read the README instead')
  await service.wait()
  const [first] = await service.calls()
  assert.equal(first?.error?.type, 'permission.corrected')
  assert.equal(first?.error?.message, 'The user refused the call: read the README instead')
  assert.equal(service.peers.requests.length, 2)
  assert.equal(await service.outcome(), Outcome.SUCCEEDED)
})

for (const first of ['read the README instead', '']) {
  test(`one rejection without a message ends the run and parks what waits, be it the ${first ? 'last' : 'first'} of the step`, async () => {
    await using service = await openSessionService()
    const later = Promise.withResolvers<void>()
    let prepared = 0
    service.peers.onPrepare = () => (++prepared > 1 ? later.promise : Promise.resolve())
    await service.create()
    service.peers.rules.push(ASK)
    service.peers.turns.push(calls(look('a'), look('b')))
    await service.prompt('Look')
    const [one] = await waiting(service, 1)
    await service.prompt('Wait', { messageId: 'msg_q', delivery: Delivery.QUEUE })
    await reply(service, one, Reply.REJECT, first)
    later.resolve()
    const [other] = await waiting(service, 1)
    assert.notEqual(other?.requestId, one?.requestId)
    await reply(service, other, Reply.REJECT, first ? '' : 'read the README instead')
    await service.wait()
    assert.equal(await service.outcome(), Outcome.INTERRUPTED)
    assert.equal(service.peers.requests.length, 1)
  })
}

test('a request without an answer is refused when its time is up, and the run goes on', async () => {
  await using service = await openSessionService({ permissionTimeoutMs: 50 })
  await service.create()
  service.peers.rules.push(ASK)
  service.peers.turns.push(calls(look('a')))
  const { events } = await eventsUntil(service.client, 'permissionReplied')
  await service.prompt('Look')
  await service.wait()
  assert.equal((await service.calls())[0]?.error?.type, 'permission.timeout')
  const event = (await events).at(-1)?.event
  assert.equal(event?.case === 'permissionReplied' && event.value.reply, Reply.REJECT)
  assert.equal(service.peers.requests.length, 2)
  assert.equal(await service.outcome(), Outcome.SUCCEEDED)
})

test('a request whose time is up while its answer is read counts as unanswered', async () => {
  for (let looks = 1; looks <= 14; looks++) {
    let left = Infinity
    const now = (): number => systemClock.now() + (--left < 0 ? 60 : 0)
    await using service = await openSessionService({ permissionTimeoutMs: 50, clock: { ...systemClock, now } })
    const { tools } = service.peers
    const runs = tools.look as NonNullable<typeof tools.look>
    // The clock jumps at the so-manyth look at it after the call was prepared.
    Object.defineProperty(tools, 'look', {
      enumerable: true,
      get: () => {
        if (left === Infinity && service.peers.requests.length > 0) left = looks
        return runs
      },
    })
    await service.create()
    service.peers.rules.push(ASK)
    service.peers.turns.push(calls({ id: 'a', name: 'look', input: { path: 'a' } }))
    await service.prompt('Look')
    await service.wait()
    assert.equal((await service.calls())[0]?.error?.type, 'permission.timeout', `after ${looks} looks`)
    assert.equal(await service.outcome(), Outcome.SUCCEEDED)
  }
})

test('a rejection that was accepted in time counts, however late it is read', async () => {
  const seen: unknown[] = []
  for (let looks = 1; looks <= 8; looks++) {
    let left = Infinity
    const now = (): number => systemClock.now() + (--left < 0 ? 2_000 : 0)
    await using service = await openSessionService({ permissionTimeoutMs: 1_000, clock: { ...systemClock, now } })
    const [request] = await asking(service, look('a'))
    // The clock jumps at the so-manyth look at it after the answer was sent.
    left = looks
    const accepted = await reply(service, request, Reply.REJECT).then(
      () => true,
      () => false,
    )
    await service.wait()
    const expected = accepted ? ['permission.rejected', Outcome.INTERRUPTED] : ['permission.timeout', Outcome.SUCCEEDED]
    const found = [(await service.calls())[0]?.error?.type, await service.outcome()]
    assert.deepEqual(found, expected, `after ${looks} looks`)
    seen.push(accepted)
  }
  assert.ok(seen.includes(true))
})

test('an interrupt withdraws waiting permission requests', async () => {
  await using service = await openSessionService()
  await asking(service, look('a'))
  await service.client.interruptSession({ sessionId: 'ses_1' }, asKey)
  await service.wait()
  assert.deepEqual((await service.client.listPermissionRequests({ sessionId: 'ses_1' }, asKey)).requests, [])
  const { type, message } = (await service.calls())[0]?.error ?? {}
  assert.deepEqual([type, message], ['aborted', 'The tool call was cut off before it began; it has done nothing'])
  assert.equal(await service.outcome(), Outcome.INTERRUPTED)
})

test('a call of another tool goes on while one waits for a permission', async () => {
  await using service = await openSessionService()
  service.peers.tools.list = says('listed')
  const { events } = await eventsUntil(service.client, 'toolSucceeded')
  const [request] = await asking(service, look('a'), { id: 'b', name: 'list' })
  await events
  await reply(service, request, Reply.ONCE)
  await service.wait()
})
