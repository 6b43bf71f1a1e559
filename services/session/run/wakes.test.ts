import assert from 'node:assert/strict'
import { test } from 'node:test'
import { PermissionRule_Effect as Effect } from '#gen/portico/catalog/v1/catalog_pb.js'
import { Outcome, PermissionReply } from '#gen/portico/session/v1/session_pb.js'
import { afterKill } from '#test/support/after-kill.ts'
import { scriptedPeers } from '#test/support/session-peers.ts'
import { asKey, eventsUntil, openSessionService, type SessionFixture } from '#test/support/session-service.ts'
import { calls, fails, hangingTool, hangs, says } from '#test/support/session-turns.ts'
import { waitUntil } from '#test/support/wait-until.ts'

const interrupt = (service: SessionFixture) => service.client.interruptSession({ sessionId: 'ses_1' }, asKey)
const queued = { delivery: 2 }

/** The conversation in short: ids of inputs, kinds of the rest, and how each run ended. */
async function course(service: SessionFixture): Promise<string[]> {
  return (await service.messages()).map(({ messageId, kind }) => {
    if (kind.case === 'idle') return Outcome[kind.value.outcome].toLowerCase()
    return kind.case === 'user' ? messageId : String(kind.case)
  })
}

/** Whoever calls it waits until somebody opens it. */
function gate() {
  const reached = Promise.withResolvers<void>()
  const opened = Promise.withResolvers<void>()
  return {
    reached: reached.promise,
    open: opened.resolve,
    pass: () => {
      reached.resolve()
      return opened.promise
    },
  }
}

test('an input admitted while an interrupted run ends is run next, and its tools run under a new fence', async () => {
  await using service = await openSessionService()
  await service.create()
  const { peers } = service
  const tool = hangingTool()
  const fences: bigint[] = []
  peers.tools.sleep = tool.script
  peers.tools.look = async function* (request, signal) {
    fences.push(request.fence)
    yield* says('seen')(request, signal)
  }
  const ending = gate()
  peers.onEnd = ending.pass
  peers.turns.push(calls({ id: 'a', name: 'sleep' }), calls({ id: 'b', name: 'look' }))
  await service.prompt('One')
  await tool.running
  await interrupt(service)
  await ending.reached
  await service.prompt('Two')
  await service.prompt('Three', queued)
  ending.open()
  await service.wait()
  assert.deepEqual(await course(service), [
    ...['msg_1', 'assistant', 'interrupted'],
    ...['msg_2', 'assistant', 'assistant', 'succeeded'],
    ...['msg_3', 'assistant', 'succeeded'],
  ])
  assert.equal(peers.ended.length, 1)
  assert.deepEqual(fences, peers.ended, 'the catalog refuses a fence that was ended')
})

test('a second interrupt ends what was admitted after the first, and only that', async () => {
  await using service = await openSessionService()
  await service.create()
  const ending = gate()
  const tool = hangingTool()
  service.peers.tools.sleep = tool.script
  service.peers.onEnd = ending.pass
  service.peers.turns.push(calls({ id: 'a', name: 'sleep' }))
  await service.prompt('One')
  await tool.running
  await interrupt(service)
  await ending.reached
  await service.prompt('Two')
  assert.equal((await interrupt(service)).interrupted, true)
  ending.open()
  await service.wait()
  assert.deepEqual(await course(service), ['msg_1', 'assistant', 'interrupted'])
  await service.prompt('Three')
  await service.wait()
  const rest = ['msg_2', 'msg_3', 'assistant', 'succeeded']
  assert.deepEqual(await course(service), ['msg_1', 'assistant', 'interrupted', ...rest])
})

test('a prompt sent directly after an interrupt is answered, every time', async () => {
  await using service = await openSessionService()
  await service.create()
  for (let round = 0; round < 20; round++) {
    service.peers.turns.push(hangs())
    const { events } = await eventsUntil(service.client, 'partExtended')
    await service.prompt('Think', { messageId: `msg_a${round}` })
    await events
    await interrupt(service)
    await service.prompt('Now', { messageId: `msg_b${round}` })
    await service.wait()
    const ran = ['assistant', 'interrupted', `msg_b${round}`, 'assistant', 'succeeded']
    assert.deepEqual((await course(service)).slice(-6), [`msg_a${round}`, ...ran])
  }
})

test('an interrupt during a takeover ends the run that is taken over, and an input admitted then is run', async () => {
  await using service = await openSessionService()
  await service.create()
  const tool = hangingTool()
  service.peers.tools.sleep = tool.script
  service.peers.turns.push(calls({ id: 'a', name: 'sleep' }))
  await service.prompt('One')
  await tool.running
  const directory = await afterKill(service)
  const peers = scriptedPeers()
  const ending = gate()
  peers.onEnd = ending.pass
  await using after = await openSessionService({ directory, peers })
  await ending.reached
  await interrupt(after)
  await after.prompt('Two', { messageId: 'msg_2' })
  ending.open()
  await after.wait()
  assert.deepEqual(await course(after), ['msg_1', 'assistant', 'interrupted', 'msg_2', 'assistant', 'succeeded'])
  assert.equal(peers.requests.length, 1)
})

/** A run whose call was refused, held open by another call; `release` lets it end. */
async function refused(service: SessionFixture, before: () => Promise<void> = async () => {}) {
  await service.create()
  const other = gate()
  service.peers.rules.push({ action: 'look', resource: '*', effect: Effect.ASK })
  service.peers.tools.work = async function* (request, signal) {
    await other.pass()
    yield* says('worked')(request, signal)
  }
  service.peers.turns.push(calls({ id: 'a', name: 'look' }, { id: 'b', name: 'work' }))
  await service.prompt('One')
  await other.reached
  const requestId = await waitUntil('a permission request', async () => {
    const { requests } = await service.client.listPermissionRequests({ sessionId: 'ses_1' }, asKey)
    return requests[0]?.requestId
  })
  await before()
  const answer = { sessionId: 'ses_1', requestId, reply: PermissionReply.REJECT }
  await service.client.replyPermissionRequest(answer, asKey)
  return other.open
}

test('an input admitted after a rejected permission, while the run still ends, is run next', async () => {
  await using service = await openSessionService()
  const release = await refused(service)
  await service.prompt('Two')
  await service.prompt('Three', queued)
  release()
  await service.wait()
  const rest = ['msg_2', 'assistant', 'succeeded', 'msg_3', 'assistant', 'succeeded']
  assert.deepEqual(await course(service), ['msg_1', 'assistant', 'interrupted', ...rest])
})

test('a resume after a rejected permission, while the run still ends, goes on with it next', async () => {
  await using service = await openSessionService()
  const release = await refused(service)
  await service.client.resumeSession({ sessionId: 'ses_1' }, asKey)
  release()
  await service.wait()
  assert.deepEqual(await course(service), ['msg_1', 'assistant', 'interrupted', 'assistant', 'succeeded'])
})

test('a rejected permission ends a run even if it was resumed before, and a resume joins a run that then fails', async () => {
  await using service = await openSessionService()
  const resume = () => service.client.resumeSession({ sessionId: 'ses_1' }, asKey)
  const release = await refused(service, async () => void (await resume()))
  release()
  await service.wait()
  assert.deepEqual(await course(service), ['msg_1', 'assistant', 'interrupted'])
  const step = gate()
  service.peers.turns.push(async function* (request, signal) {
    await step.pass()
    yield* fails('PROVIDER_REFUSED', {}, 'Half an')(request, signal)
  })
  await resume()
  await step.reached
  await resume()
  step.open()
  await service.wait()
  assert.deepEqual((await course(service)).slice(3), ['assistant', 'failed'])
})

test('inputs that waited when a permission was rejected wait for the next wake', async () => {
  await using service = await openSessionService()
  const release = await refused(service, async () => {
    await service.prompt('Two')
    await service.prompt('Three', queued)
  })
  release()
  await service.wait()
  assert.deepEqual(await course(service), ['msg_1', 'assistant', 'interrupted'])
  await service.prompt('Two', { messageId: 'msg_2' })
  await service.wait()
  const rest = ['msg_2', 'assistant', 'succeeded', 'msg_3', 'assistant', 'succeeded']
  assert.deepEqual(await course(service), ['msg_1', 'assistant', 'interrupted', ...rest])
})
