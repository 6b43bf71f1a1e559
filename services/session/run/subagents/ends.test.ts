import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { Delivery, Outcome } from '#gen/portico/session/v1/session_pb.js'
import { openSqliteSessionStore } from '#services/session/adapters/sqlite/open-session-store.ts'
import { systemClock } from '#shared/clock.ts'
import { Places } from '#shared/places.ts'
import { acquire, admission } from '#test/contract/session-store.support.ts'
import { afterKill } from '#test/support/after-kill.ts'
import { scriptedPeers } from '#test/support/session-peers.ts'
import { asKey, openSessionService, type SessionFixture } from '#test/support/session-service.ts'
import { calls, hangs, type Turn, text } from '#test/support/session-turns.ts'
import { withUseCases } from '#test/support/session-use-cases.ts'
import { waitFor } from '#test/support/wait-until.ts'

const explore = { description: 'Look', prompt: 'Find it', subagent_type: 'explore' }
const task = calls({ id: 'a', name: 'task', input: explore })

/** A parent whose child hangs, in as many generations as there are parents: resolves when the last one was asked. */
async function openWaiting(options: Parameters<typeof openSessionService>[0] = {}, generations = 1) {
  const peers = scriptedPeers()
  peers.subagents.push({ agentId: 'explore' })
  const { promise: hanging, resolve } = Promise.withResolvers<void>()
  peers.turns.push(...Array.from({ length: generations }, () => task), async function* (request, signal) {
    resolve()
    yield* hangs('Half')(request, signal)
  } satisfies Turn)
  const service = await openSessionService({ peers, ...options })
  await service.create()
  await service.prompt('Go')
  await hanging
  return Object.assign(service, { childId: await childOf(service) })
}

async function childOf({ client }: SessionFixture, parentId = 'ses_1'): Promise<string> {
  const { sessions } = await client.listSessions({ parentId }, asKey)
  assert.equal(sessions.length, 1)
  return sessions[0]?.sessionId ?? ''
}

async function errorOf(service: SessionFixture, id?: string): Promise<string | undefined> {
  return (await service.calls(id))[0]?.error?.type
}

const interrupt = ({ client }: SessionFixture, sessionId: string) => client.interruptSession({ sessionId }, asKey)

test('a child that is interrupted fails the call, and the parent goes on', async () => {
  await using service = await openWaiting()
  await interrupt(service, service.childId)
  await service.wait()
  assert.equal(await errorOf(service), 'task.interrupted')
  assert.deepEqual([await service.outcome(), await service.outcome(service.childId)], [1, 3])
})

test('a task returns the child’s answer to its prompt and to steers, without waiting for inputs queued behind it', async () => {
  const peers = scriptedPeers()
  peers.subagents.push({ agentId: 'explore' })
  const [begun, steered] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const first: Turn = async function* (request, signal) {
    begun.resolve()
    await steered.promise
    yield* text('Not yet')(request, signal)
  }
  const byPrompt: Turn = (request, signal) => {
    const said = JSON.stringify(request.messages.at(-1)?.parts)
    if (said.includes('Thanks')) return hangs('You are welcome')(request, signal)
    return text(said.includes('in src') ? 'It is in src' : 'Done')(request, signal)
  }
  peers.turns.push(task, first, byPrompt, byPrompt, byPrompt)
  await using service = await openSessionService({ peers })
  await service.create()
  await service.prompt('Go')
  await begun.promise
  const sessionId = await childOf(service)
  await service.prompt('Only in src', { sessionId, messageId: 'msg_steer' })
  await service.prompt('Thanks', { sessionId, messageId: 'msg_queued', delivery: Delivery.QUEUE })
  steered.resolve()
  await service.wait()
  const [call] = await service.calls()
  assert.match(JSON.stringify(call?.content), /<task_result>\\nIt is in src\\n/)
  assert.equal(await service.outcome(), Outcome.SUCCEEDED)
  const { sessionIds } = await service.client.listActiveSessions({}, asKey)
  assert.deepEqual(sessionIds, [sessionId])
})

test('a child that is interrupted for a steer goes on with its task', async () => {
  await using service = await openWaiting()
  const { client, childId: sessionId } = service
  service.peers.turns.push(text('It is in src'), text('Thanks'))
  await service.prompt('Only in src', { sessionId, messageId: 'msg_steer' })
  await client.interruptSession({ sessionId, resume: true }, asKey)
  await service.wait()
  assert.match(JSON.stringify((await service.calls())[0]?.content), /<task_result>\\nIt is in src\\n/)
  const ends = (await service.messages(sessionId)).filter(({ kind }) => kind.case === 'idle')
  assert.equal(ends.length, 2)
})

test('a child that is removed fails the call, and the parent goes on', async () => {
  await using service = await openWaiting()
  await service.client.removeSession({ sessionId: service.childId }, asKey)
  await service.wait()
  assert.equal(await errorOf(service), 'task.removed')
  assert.equal(await service.outcome(), Outcome.SUCCEEDED)
})

test('a child that takes too long is interrupted, and the parent goes on', async () => {
  await using service = await openWaiting({ taskTimeoutMs: 300 })
  await service.wait()
  assert.equal(await errorOf(service), 'task.timeout')
  await service.wait(service.childId)
  assert.deepEqual([await service.outcome(), await service.outcome(service.childId)], [1, 3])
})

test('an interrupt of a parent interrupts its child, and the child’s child', async () => {
  await using service = await openWaiting({}, 2)
  const grandchild = await childOf(service, service.childId)
  await interrupt(service, 'ses_1')
  for (const id of ['ses_1', service.childId, grandchild]) {
    await service.wait(id)
    assert.equal(await service.outcome(id), Outcome.INTERRUPTED)
  }
  assert.deepEqual([await errorOf(service), await errorOf(service, service.childId)], ['aborted', 'aborted'])
})

test('a parent that is removed takes its child along', async () => {
  await using service = await openWaiting()
  await service.client.removeSession({ sessionId: 'ses_1' }, asKey)
  await waitFor('the child to be gone', async () => {
    const { sessions } = await service.client.listSessions({}, asKey)
    return sessions.length === 0
  })
})

/** Kills a service, or stops it, and opens its files anew. */
async function reopen(service: SessionFixture, way: 'kill' | 'stop', options: { readonly autoResume?: boolean } = {}) {
  const directory = await afterKill(service)
  const peers = scriptedPeers()
  peers.subagents.push({ agentId: 'explore' })
  if (way === 'kill') return openSessionService({ peers, directory, ...options })
  const first = await openSessionService({ peers: hanging(), directory })
  await waitFor('the child to be asked', () => first.peers.requests.length > 0)
  await first[Symbol.asyncDispose]()
  return openSessionService({ peers, directory, ...options })
}

function hanging() {
  const peers = scriptedPeers()
  peers.turns.push(hangs())
  return peers
}

for (const way of ['kill', 'stop'] as const) {
  test(`after a ${way} the parent waits for the same child, whose prompt is there once`, async () => {
    await using service = await openWaiting()
    await using after = await reopen(service, way)
    after.peers.turns.push(text('Found'), text('Thanks'))
    await after.wait()
    assert.equal(await childOf(after), service.childId)
    const [call] = await after.calls()
    assert.deepEqual([call?.state, call?.metadata], [3, { sessionID: service.childId, agent: 'explore' }])
    assert.match(JSON.stringify(call?.content), /Found/)
    const order = async (id?: string) => (await after.messages(id)).map(({ kind }) => kind.case)
    assert.deepEqual(await order(), ['user', 'assistant', 'assistant', 'idle'])
    assert.equal((await order(service.childId)).filter((kind) => kind === 'user').length, 1)
    const [step] = await after.steps()
    assert.deepEqual([step?.error, step?.costNanos], [undefined, 7n])
    const { session } = await after.client.getSession({ sessionId: 'ses_1' }, asKey)
    assert.equal(session?.costNanos, 14n)
  })
}

test('after a kill between the record of a child and its creation, that child is created', async (t) => {
  const peers = scriptedPeers()
  peers.subagents.push({ agentId: 'explore' })
  peers.turns.push(task)
  await using service = await openSessionService({ peers })
  await service.create()
  const { promise: recorded, resolve } = Promise.withResolvers<void>()
  const killed = Promise.withResolvers<never>()
  using _ = { [Symbol.dispose]: () => killed.reject(new Error('killed')) }
  // What makes a child waits for its turn first.
  const waiting = t.mock.method(Places.prototype, 'take', () => {
    resolve()
    return killed.promise
  })
  await service.prompt('Go')
  await recorded
  const [before] = await service.calls()
  const { sessionID } = (before?.metadata ?? {}) as { sessionID: string }
  assert.deepEqual((await service.client.listSessions({ parentId: 'ses_1' }, asKey)).sessions, [])
  const directory = await afterKill(service)
  waiting.mock.restore()
  const others = scriptedPeers()
  others.subagents.push({ agentId: 'explore' })
  others.turns.push(text('Found'), text('Thanks'))
  await using after = await openSessionService({ peers: others, directory })
  await after.wait()
  assert.equal(await childOf(after), sessionID)
  const [call] = await after.calls()
  assert.deepEqual([call?.state, call?.metadata], [3, { sessionID, agent: 'explore' }])
  assert.equal((await after.messages(sessionID)).filter(({ kind }) => kind.case === 'user').length, 1)
})

test('without automatic resumption, the runs of parent and child both end, and neither waits for the other', async () => {
  await using service = await openWaiting()
  await using after = await reopen(service, 'kill', { autoResume: false })
  for (const id of ['ses_1', service.childId]) {
    await after.wait(id)
    assert.equal(await after.outcome(id), Outcome.INTERRUPTED)
  }
  assert.equal(await errorOf(after), 'aborted')
})

test('a child that was removed while its parent had no owner fails the call', async () => {
  await using service = await openWaiting()
  const directory = await afterKill(service)
  // Nobody runs anything there.
  await using store = await openSqliteSessionStore({ path: join(directory, 'session.sqlite'), clock: systemClock })
  await store.removeSession('wrk_1', service.childId)
  await store[Symbol.asyncDispose]()
  await using after = await openSessionService({ directory })
  await after.wait()
  assert.equal(await errorOf(after), 'task.removed')
})

test('a child that is interrupted and prompted again fails the call, before anybody looks as well', async () => {
  await using service = await openWaiting()
  const directory = await afterKill(service)
  const sessionId = service.childId
  // Nobody runs anything there.
  const path = join(directory, 'session.sqlite')
  await using store = withUseCases(await openSqliteSessionStore({ path, clock: systemClock }))
  for (let claims = 0; claims < 2; claims++) {
    const lease = await acquire(store, 60_000)
    if (lease.sessionId !== sessionId) continue
    await store.settleAborted(lease)
    await store.endRun(lease, Outcome.INTERRUPTED)
  }
  await store.admit('wrk_1', admission('msg_again', { sessionId, text: 'Thanks' }))
  await store[Symbol.asyncDispose]()
  const peers = scriptedPeers()
  peers.subagents.push({ agentId: 'explore' })
  const byPrompt: Turn = (request, signal) => {
    const said = JSON.stringify(request.messages.at(-1)?.parts)
    return (said.includes('Thanks') ? hangs('You are welcome') : text('Done'))(request, signal)
  }
  peers.turns.push(byPrompt, byPrompt, byPrompt)
  await using after = await openSessionService({ peers, directory })
  await after.wait()
  assert.equal(await errorOf(after), 'task.interrupted')
})

test('a child is interrupted although its parent’s tools cannot be ended', async () => {
  await using service = await openWaiting()
  service.peers.onEnd = async () => {
    throw new Error('Nobody knows why')
  }
  await interrupt(service, 'ses_1')
  for (const id of ['ses_1', service.childId]) {
    await service.wait(id)
    assert.equal(await service.outcome(id), Outcome.INTERRUPTED)
  }
})
