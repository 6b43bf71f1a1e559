import assert from 'node:assert/strict'
import { test } from 'node:test'
import { PermissionRule_Effect as Effect } from '#gen/portico/catalog/v1/catalog_pb.js'
import { Outcome, PermissionReply } from '#gen/portico/session/v1/session_pb.js'
import { asKey, eventsUntil, openSessionService, type SessionFixture } from '#test/support/session-service.ts'
import { calls, fails, hangingTool, hangs, says, text } from '#test/support/session-turns.ts'
import { waitFor, waitUntil } from '#test/support/wait-until.ts'
import type { Pause } from './pause.ts'

const look = calls({ id: 'a', name: 'look' })
/** One run at a time, and nobody refuses for want of an answer. */
const oneAtATime = { maxRuns: 1, permissionTimeoutMs: 3_600_000 }

const active = async (service: SessionFixture) => (await service.client.listActiveSessions({}, asKey)).sessionIds

/** Begins a run of a session, whose tool `look` waits for somebody's leave. */
async function asking(service: SessionFixture, sessionId: string): Promise<string> {
  service.peers.turns.push(look)
  await service.create(sessionId)
  await service.prompt('Look', { sessionId })
  return waitUntil(`a permission request of ${sessionId}`, async () => {
    const { requests } = await service.client.listPermissionRequests({ sessionId }, asKey)
    return requests[0]?.requestId
  })
}

/** Begins a run of a session whose model does not come to an end. */
async function hanging(service: SessionFixture, sessionId: string): Promise<void> {
  const { events } = await eventsUntil(service.client, 'partExtended')
  service.peers.turns.push(hangs())
  await service.create(sessionId)
  await service.prompt('Think', { sessionId })
  await events
}

const reply = (service: SessionFixture, sessionId: string, requestId: string, answer = PermissionReply.ONCE) =>
  service.client.replyPermissionRequest({ sessionId, requestId, reply: answer }, asKey)

test('while one session waits for a person, another runs to its end', async () => {
  await using service = await openSessionService(oneAtATime)
  service.peers.rules.push({ action: 'look', resource: '*', effect: Effect.ASK })
  const requestId = await asking(service, 'ses_1')
  await service.create('ses_2')
  service.peers.tools.list = says('listed')
  service.peers.turns.push(calls({ id: 'a', name: 'list' }), text('All of it'))
  await service.prompt('Hi', { sessionId: 'ses_2' })
  await service.wait('ses_2')
  assert.equal(await service.outcome('ses_2'), Outcome.SUCCEEDED)
  await reply(service, 'ses_1', requestId)
  await service.wait('ses_1')
  assert.equal((await service.calls('ses_1'))[0]?.state, 3)
})

test('while one session waits for its next try, another runs to its end', async () => {
  const pause: Pause = (_, signal) =>
    new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
  await using service = await openSessionService({ ...oneAtATime, pause })
  service.peers.turns.push(fails('PROVIDER_UNAVAILABLE'))
  await service.create('ses_1')
  await service.prompt('Hi')
  await waitFor('the pause', () => service.pauses.length === 1)
  await service.create('ses_2')
  await service.prompt('Hi', { sessionId: 'ses_2' })
  await service.wait('ses_2')
  assert.equal(await service.outcome('ses_2'), Outcome.SUCCEEDED)
  assert.deepEqual(await active(service), ['ses_1'])
})

test('while one session waits for a plugin or an MCP server, another runs to its end; a call of the catalog keeps its slot', async () => {
  for (const external of [true, false]) {
    await using service = await openSessionService(oneAtATime)
    service.peers.external = external
    const hung = hangingTool()
    service.peers.tools.hang = hung.script
    service.peers.turns.push(calls({ id: 'a', name: 'hang' }))
    await service.create('ses_1')
    await service.prompt('Hi')
    await hung.running
    await service.create('ses_2')
    await service.prompt('Hi', { sessionId: 'ses_2' })
    if (external) await service.wait('ses_2')
    assert.equal(service.peers.requests.length, external ? 2 : 1)
    assert.equal(await service.outcome('ses_2'), external ? Outcome.SUCCEEDED : undefined)
    assert.ok((await active(service)).includes('ses_1'))
  }
})

test('a hundred sessions that wait for a person keep no other from running', async () => {
  await using service = await openSessionService(oneAtATime)
  service.peers.rules.push({ action: 'look', resource: '*', effect: Effect.ASK })
  const ids = Array.from({ length: 100 }, (_, i) => `ses_${String(i).padStart(3, '0')}`)
  for (const id of ids) {
    service.peers.turns.push(look)
    await service.create(id)
  }
  await Promise.all(ids.map((sessionId) => service.prompt('Look', { sessionId, messageId: `msg_${sessionId}` })))
  const requests = await waitUntil('a hundred permission requests', async () => {
    const { requests } = await service.client.listPermissionRequests({}, asKey)
    return requests.length === ids.length ? requests : undefined
  })
  await service.create('ses_x')
  await service.prompt('Hi', { sessionId: 'ses_x' })
  await service.wait('ses_x')
  assert.equal(await service.outcome('ses_x'), Outcome.SUCCEEDED)
  for (const { sessionId, requestId } of requests) await reply(service, sessionId, requestId)
  for (const id of ids) {
    await service.wait(id)
    assert.equal(await service.outcome(id), Outcome.SUCCEEDED)
  }
  assert.equal(service.peers.started.length, 100)
})

test('a session that waits for a slot is interrupted at once, and its tool is not started', async () => {
  await using service = await openSessionService(oneAtATime)
  service.peers.rules.push({ action: 'look', resource: '*', effect: Effect.ASK })
  const requestId = await asking(service, 'ses_1')
  await hanging(service, 'ses_2')
  await reply(service, 'ses_1', requestId)
  await service.client.interruptSession({ sessionId: 'ses_1' }, asKey)
  await service.wait('ses_1')
  assert.equal(await service.outcome('ses_1'), Outcome.INTERRUPTED)
  assert.deepEqual(await active(service), ['ses_2'])
  await service.client.interruptSession({ sessionId: 'ses_2' }, asKey)
  await service.wait('ses_2')
  assert.deepEqual(service.peers.started, [])
})

test('a refusal ends its run at once, though the slots are taken', async () => {
  await using service = await openSessionService(oneAtATime)
  service.peers.rules.push({ action: 'look', resource: '*', effect: Effect.ASK })
  const requestId = await asking(service, 'ses_1')
  await hanging(service, 'ses_2')
  await reply(service, 'ses_1', requestId, PermissionReply.REJECT)
  await service.wait('ses_1')
  assert.deepEqual(await active(service), ['ses_2'])
})

test('a session that waits for a slot goes on after a restart', async () => {
  await using files = await openSessionService()
  const { directory, peers } = files
  await files[Symbol.asyncDispose]()
  peers.rules.push({ action: 'look', resource: '*', effect: Effect.ASK })
  {
    await using before = await openSessionService({ ...oneAtATime, directory, peers })
    const requestId = await asking(before, 'ses_1')
    await hanging(before, 'ses_2')
    await reply(before, 'ses_1', requestId)
  }
  await using after = await openSessionService({ ...oneAtATime, directory, peers })
  for (const id of ['ses_1', 'ses_2']) {
    await after.wait(id)
    assert.equal(await after.outcome(id), Outcome.SUCCEEDED)
  }
})

test('a session that works keeps its slot from its first step to its last, and others are left to other processes', async () => {
  await using service = await openSessionService(oneAtATime)
  const seen: string[][] = []
  service.peers.tools.look = async function* (request, signal) {
    seen.push(await active(service))
    yield* says('seen')(request, signal)
  }
  await service.create('ses_1')
  await service.create('ses_2')
  const two = calls({ id: 'a', name: 'look' }, { id: 'b', name: 'look' })
  service.peers.turns.push(
    async function* (request, signal) {
      await service.prompt('Hi', { sessionId: 'ses_2' })
      yield* two(request, signal)
    },
    ...Array.from({ length: 5 }, () => two),
  )
  await service.prompt('Look')
  await service.wait('ses_1')
  assert.deepEqual(seen, Array(12).fill(['ses_1']))
  await service.wait('ses_2')
  assert.equal(await service.outcome('ses_2'), Outcome.SUCCEEDED)
})
