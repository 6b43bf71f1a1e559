import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Code, ConnectError } from '@connectrpc/connect'
import { Outcome } from '#gen/portico/session/v1/session_pb.js'
import { plain } from '#test/support/inference.ts'
import { scriptedPeers } from '#test/support/session-peers.ts'
import { asKey, eventsUntil, openSessionService, type SessionFixture } from '#test/support/session-service.ts'
import { calls, hangingTool, hangs, text } from '#test/support/session-turns.ts'

const interrupt = (service: SessionFixture) => service.client.interruptSession({ sessionId: 'ses_1' }, asKey)

test('an interrupt stops the provider; the text so far stays, and the run ends as interrupted by the user', async () => {
  await using service = await openSessionService()
  await service.create()
  let stopped = false
  service.peers.turns.push(async function* (request, signal) {
    signal.addEventListener('abort', () => {
      stopped = true
    })
    yield* hangs('Let me think')(request, signal)
  })
  const { events: begun } = await eventsUntil(service.client, 'partExtended')
  const { events: ended } = await eventsUntil(service.client, 'executionEnded')
  await service.prompt('Hi')
  await begun
  assert.deepEqual(await interrupt(service), {
    $typeName: 'portico.session.v1.InterruptSessionResponse',
    interrupted: true,
  })
  await service.wait()
  assert.ok(stopped)
  const [step] = await service.steps()
  assert.deepEqual(plain(step?.parts), [{ part: { case: 'text', value: { text: 'Let me think' } } }])
  assert.deepEqual(plain(step?.error), { type: 'aborted', message: 'The step was cut off' })
  assert.ok(step?.completeTime)
  const last = (await ended).slice(-2).map(({ event }) => plain(event))
  assert.deepEqual(last, [
    {
      case: 'stepFailed',
      value: { messageId: (await service.messages())[1]?.messageId, error: plain(step?.error), finish: 'error' },
    },
    { case: 'executionEnded', value: { outcome: Outcome.INTERRUPTED, reason: 'user' } },
  ])
  assert.equal(await service.outcome(), Outcome.INTERRUPTED)
  assert.deepEqual((await service.client.listActiveSessions({}, asKey)).sessionIds, [])
})

test('an interrupt ends the tools that run, waits for their end, and records them as aborted', async () => {
  await using service = await openSessionService()
  await service.create()
  const tool = hangingTool()
  service.peers.tools.sleep = tool.script
  service.peers.turns.push(calls({ id: 'a', name: 'look' }, { id: 'b', name: 'sleep' }))
  const ending = Promise.withResolvers<void>()
  const ended = Promise.withResolvers<void>()
  service.peers.onEnd = () => {
    ending.resolve()
    return ended.promise
  }
  await service.prompt('Sleep')
  await tool.running
  await interrupt(service)
  await ending.promise
  for (let look = 0; look < 5; look++) {
    // A write of ours is done after those that were asked for before it.
    await service.prompt('Later', { parked: true })
    const states = (await service.calls()).map(({ state }) => state)
    assert.deepEqual(states, [3, 2], 'nothing is recorded as aborted before it has ended')
    assert.equal(await service.outcome(), undefined)
  }
  ended.resolve()
  await service.wait()
  assert.ok(tool.aborted)
  assert.deepEqual(
    service.peers.ended,
    [(service.peers.fences[0] ?? 0n) + 1n],
    'the next fence: what this one left is ended',
  )
  const seen = (await service.calls()).map(({ state, error, metadata }) => [state, error?.type, metadata])
  assert.deepEqual(seen, [
    [3, undefined, undefined],
    [4, 'aborted', { percent: 10 }],
  ])
  const [step] = await service.steps()
  assert.equal(step?.costNanos, 7n)
  const { session } = await service.client.getSession({ sessionId: 'ses_1' }, asKey)
  assert.equal(session?.costNanos, 7n, 'what the step used is counted')
})

test('an interrupt tries until the catalog has ended the tools, and records nothing as aborted before', async () => {
  await using service = await openSessionService()
  await service.create()
  const tool = hangingTool()
  service.peers.tools.sleep = tool.script
  service.peers.turns.push(calls({ id: 'a', name: 'sleep' }))
  const states: unknown[] = []
  service.peers.onEnd = async () => {
    states.push((await service.calls())[0]?.state)
    if (states.length < 4) throw new ConnectError('The catalog restarts', Code.Unavailable)
  }
  await service.prompt('Sleep')
  await tool.running
  await interrupt(service)
  await service.wait()
  assert.deepEqual(states, [2, 2, 2, 2])
  assert.equal((await service.calls())[0]?.error?.type, 'aborted')
  assert.equal(await service.outcome(), Outcome.INTERRUPTED)
})

test('a shutdown does not wait for tools that an interrupt could not end; the next start ends them, and the run', async () => {
  const peers = scriptedPeers()
  await using files = await openSessionService({ peers })
  const { directory } = files
  await files[Symbol.asyncDispose]()
  const tool = hangingTool()
  peers.tools.sleep = tool.script
  {
    await using before = await openSessionService({ peers, directory })
    await before.create()
    peers.turns.push(calls({ id: 'a', name: 'sleep' }))
    const tried = Promise.withResolvers<void>()
    peers.onEnd = async () => {
      if (peers.ended.length === 3) tried.resolve()
      throw new ConnectError('The catalog is away', Code.Unavailable)
    }
    await before.prompt('Sleep')
    await tool.running
    await interrupt(before)
    await tried.promise
    assert.equal((await before.calls())[0]?.state, 2)
  }
  peers.onEnd = async () => {}
  await using after = await openSessionService({ peers, directory })
  await after.wait()
  assert.equal((await after.calls())[0]?.error?.type, 'aborted')
  assert.equal(await after.outcome(), Outcome.INTERRUPTED)
})

test('after an interrupt queued inputs wait for the next wake', async () => {
  await using service = await openSessionService()
  await service.create()
  service.peers.turns.push(hangs())
  const { events } = await eventsUntil(service.client, 'partExtended')
  await service.prompt('One')
  await events
  await service.prompt('Two', { delivery: 2 })
  await interrupt(service)
  await service.wait()
  assert.equal(service.peers.requests.length, 1)
  await service.prompt('Three', { delivery: 2 })
  await service.wait()
  const order = (await service.messages()).map(({ messageId, kind }) => (kind.case === 'user' ? messageId : kind.case))
  assert.deepEqual(order, ['msg_1', 'assistant', 'idle', 'msg_2', 'assistant', 'idle', 'msg_3', 'assistant', 'idle'])
})

test('interrupting an idle session does nothing', async () => {
  await using service = await openSessionService()
  await service.create()
  assert.equal((await interrupt(service)).interrupted, false)
  assert.deepEqual(await service.messages(), [])
})

test('a shutdown in the middle of an answer stops the provider, and the next start answers again', async () => {
  const peers = scriptedPeers()
  await using files = await openSessionService({ peers })
  await using first = new AsyncDisposableStack()
  const { directory } = files
  await files[Symbol.asyncDispose]()
  const before = first.use(await openSessionService({ peers, directory }))
  await before.create()
  peers.turns.push(hangs('Half'))
  const { events } = await eventsUntil(before.client, 'partExtended')
  await before.prompt('Hi')
  await events
  await first.disposeAsync()
  await using after = await openSessionService({ peers, directory })
  await after.wait()
  const order = (await after.messages()).map(({ kind }) => kind.case)
  assert.deepEqual(order, ['user', 'assistant', 'assistant', 'idle'])
  const [cut, whole] = await after.steps()
  assert.equal(cut?.error?.type, 'aborted')
  assert.deepEqual(plain(whole?.parts), [{ part: { case: 'text', value: { text: 'Done.' } } }])
  const sent = peers.requests[1]?.messages.slice(1).map(({ parts }) => parts[0]?.part.case)
  assert.deepEqual(sent, ['text'], 'half an answer is not sent back')
  assert.equal(await after.outcome(), Outcome.SUCCEEDED)
})

test('a shutdown ends the tools that run; the next start shows the model that they were cut off, and starts none again', async () => {
  const peers = scriptedPeers()
  await using files = await openSessionService({ peers })
  const { directory } = files
  await files[Symbol.asyncDispose]()
  const tool = hangingTool()
  peers.tools.sleep = tool.script
  {
    await using before = await openSessionService({ peers, directory })
    await before.create()
    peers.turns.push(calls({ id: 'a', name: 'sleep' }), text('It was cut off'))
    await before.prompt('Sleep')
    await tool.running
  }
  assert.ok(tool.aborted)
  await using after = await openSessionService({ peers, directory })
  await after.wait()
  assert.equal(peers.started.length, 1)
  assert.equal((await after.calls())[0]?.error?.type, 'aborted')
  assert.equal((await after.steps()).length, 2)
  const result = peers.requests[1]?.messages.at(-1)?.parts[0]?.part
  assert.equal(result?.case === 'toolResult' && result.value.failed, true)
  assert.equal(await after.outcome(), Outcome.SUCCEEDED)
})
