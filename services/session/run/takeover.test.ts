import assert from 'node:assert/strict'
import { test } from 'node:test'
import { pino } from 'pino'
import { Outcome } from '#gen/portico/session/v1/session_pb.js'
import type { Clock } from '#shared/clock.ts'
import { systemClock } from '#shared/clock.ts'
import { afterKill } from '#test/support/after-kill.ts'
import { holdEnd, scriptedPeers } from '#test/support/session-peers.ts'
import { asKey, eventsUntil, openSessionService } from '#test/support/session-service.ts'
import { calls, hangingTool, hangs, says, text } from '#test/support/session-turns.ts'
import { waitFor } from '#test/support/wait-until.ts'

/** A clock that jumps on demand. */
function jumpingClock(): Clock & { jump(ms: number): void; pause(ms: number): void } {
  let now = 0
  let monotonic = 0
  return {
    now: () => systemClock.now() + now,
    monotonic: () => systemClock.monotonic() + monotonic,
    jump: (ms) => {
      now += ms
    },
    pause: (ms) => {
      now += ms
      monotonic += ms
    },
  }
}

test('an owner that lost its lease writes nothing more, and its calls are recorded as aborted, once', async () => {
  const clock = jumpingClock()
  const log: string[] = []
  const logger = pino({ base: null }, { write: (line: string) => void log.push(line) })
  await using service = await openSessionService({ clock, logger, leaseMs: 600_000, pollMs: 20 })
  await service.create()
  const { peers } = service
  const late = Promise.withResolvers<void>()
  const running = Promise.withResolvers<void>()
  peers.tools.sleep = async function* (request, signal) {
    running.resolve()
    await late.promise
    yield* says('too late')(request, signal)
  }
  peers.turns.push(calls({ id: 'a', name: 'sleep' }), text('Taken over'))
  await service.prompt('Sleep')
  await running.promise
  const { events } = await eventsUntil(service.client, 'executionEnded')
  // The lease runs out while its owner does not notice: the same process takes the session under the next fence.
  clock.jump(601_000)
  await service.wait()
  const seen = (await events).map(({ event }) => event.case)
  assert.deepEqual(seen.slice(0, 2), ['toolFailed', 'stepFailed'])
  late.resolve()
  await waitFor('the owner to notice', () => log.some((line) => line.includes('A session was lost to another owner')))
  assert.equal(peers.ended.length, 1)
  assert.equal(peers.started.length, 1)
  const [call] = await service.calls()
  assert.deepEqual([call?.state, call?.error?.type, call?.content], [4, 'aborted', []])
  const order = (await service.messages()).map(({ kind }) => kind.case)
  assert.deepEqual(order, ['user', 'assistant', 'assistant', 'idle'])
  assert.equal(await service.outcome(), Outcome.SUCCEEDED)
})

test('an owner that was paused for longer than its lease starts no tool any more', async () => {
  for (const moment of ['turn', 'prepare'] as const) {
    const clock = jumpingClock()
    await using service = await openSessionService({ clock, leaseMs: 600_000, pollMs: 20 })
    await service.create()
    const { peers } = service
    const paused = Promise.withResolvers<void>()
    const pauseAt = (now: typeof moment): void => {
      if (now !== moment || peers.ended.length > 0) return
      clock.pause(599_000)
      paused.resolve()
    }
    peers.turns.push(async function* (request, signal) {
      pauseAt('turn')
      yield* calls({ id: 'a', name: 'look' })(request, signal)
    })
    peers.onPrepare = async () => pauseAt('prepare')
    await service.prompt('Look')
    await paused.promise
    const { events } = await eventsUntil(service.client, 'executionEnded')
    clock.jump(600_000)
    await events
    await service.wait()
    assert.deepEqual(peers.started, [], moment)
    assert.equal(peers.ended.length, 1)
    assert.equal(await service.outcome(), Outcome.SUCCEEDED)
  }
})

test('after a kill in the middle of an answer the next start answers the prompt, which is there once', async () => {
  await using service = await openSessionService()
  await service.create()
  service.peers.turns.push(hangs('Half'))
  const { events } = await eventsUntil(service.client, 'partExtended')
  await service.prompt('Hi')
  await events
  const directory = await afterKill(service)
  await using after = await openSessionService({ directory })
  await after.wait()
  const order = (await after.messages()).map(({ messageId, kind }) => (kind.case === 'user' ? messageId : kind.case))
  assert.deepEqual(order, ['msg_1', 'assistant', 'assistant', 'idle'])
  assert.equal((await after.steps())[0]?.error?.type, 'aborted')
  assert.equal(await after.outcome(), Outcome.SUCCEEDED)
})

test('after a kill in the middle of a tool its call is ended, then recorded as aborted, and not started again', async () => {
  await using service = await openSessionService()
  await service.create()
  const tool = hangingTool()
  service.peers.tools.sleep = tool.script
  service.peers.turns.push(calls({ id: 'a', name: 'look' }, { id: 'b', name: 'sleep' }))
  const { events } = await eventsUntil(service.client, 'toolSucceeded')
  await service.prompt('Sleep')
  await Promise.all([tool.running, events])
  const directory = await afterKill(service)
  const peers = scriptedPeers()
  const end = holdEnd(peers)
  await using after = await openSessionService({ directory, peers })
  await end.reached
  const states = async () => (await after.calls()).map(({ state, error }) => [state, error?.type])
  assert.deepEqual(await states(), [
    [3, undefined],
    [2, undefined],
  ])
  end.release()
  await after.wait()
  assert.deepEqual(await states(), [
    [3, undefined],
    [4, 'aborted'],
  ])
  assert.match((await after.calls())[1]?.error?.message ?? '', /what it has done is unknown/)
  assert.deepEqual(peers.started, [])
  assert.equal(peers.requests.length, 1)
  assert.equal(await after.outcome(), Outcome.SUCCEEDED)
})

test('a takeover waits until the catalog has ended the tools of the former owner, and writes nothing before', async () => {
  await using service = await openSessionService()
  await service.create()
  const tool = hangingTool()
  service.peers.tools.sleep = tool.script
  service.peers.turns.push(calls({ id: 'a', name: 'sleep' }))
  await service.prompt('Sleep')
  await tool.running
  const directory = await afterKill(service)
  const peers = scriptedPeers()
  let tries = 0
  peers.onEnd = async () => {
    tries++
    if (tries < 4) throw new Error('not now')
  }
  await using after = await openSessionService({ directory, peers })
  await after.wait()
  assert.deepEqual([peers.ended.length, new Set(peers.ended).size], [4, 1])
  assert.deepEqual(after.pauses, [500, 1_000, 2_000])
  assert.equal(await after.outcome(), Outcome.SUCCEEDED)
})

test('a run fails, and reports that its tools may still be running, when the catalog never ends them', async () => {
  await using service = await openSessionService()
  await service.create()
  const tool = hangingTool()
  service.peers.tools.sleep = tool.script
  service.peers.turns.push(calls({ id: 'a', name: 'sleep' }))
  await service.prompt('Sleep')
  await tool.running
  const directory = await afterKill(service)
  const peers = scriptedPeers()
  let tries = 0
  peers.onEnd = async () => {
    tries++
    throw new Error('never')
  }
  const clock = jumpingClock()
  await using after = await openSessionService({ directory, peers, clock, leaseMs: 3_600_000, pollMs: 20 })
  // The first attempt was that of the process that was killed.
  for (let attempts = 1; attempts <= 4; attempts++) {
    await waitFor('an attempt to be over', () => tries === attempts * 7)
    clock.jump(3_600_000)
  }
  await waitFor('the end of the run', async () => (await after.outcome()) === Outcome.FAILED)
  const end = (await after.messages()).at(-1)?.kind
  assert.match((end?.case === 'idle' && end.value.error?.message) || '', /whether its tool calls have ended/)
  const [call] = await after.calls()
  assert.deepEqual([call?.state, call?.error?.type], [4, 'aborted'])
  peers.onEnd = async () => {}
  await after.prompt('Again', { messageId: 'msg_again' })
  await after.wait()
  assert.equal(await after.outcome(), Outcome.SUCCEEDED)
})

test('after a kill while permission was requested, the request is gone and the model is called again', async () => {
  await using service = await openSessionService()
  await service.create()
  service.peers.rules.push({ action: 'look', resource: '*', effect: 3 })
  service.peers.turns.push(calls({ id: 'a', name: 'look' }))
  const { events } = await eventsUntil(service.client, 'permissionAsked')
  await service.prompt('Look')
  await events
  const directory = await afterKill(service)
  await using after = await openSessionService({ directory })
  await after.wait()
  assert.deepEqual((await after.client.listPermissionRequests({ sessionId: 'ses_1' }, asKey)).requests, [])
  const { type, message } = (await after.calls())[0]?.error ?? {}
  assert.deepEqual([type, message], ['aborted', 'The tool call was cut off before it began; it has done nothing'])
  assert.equal(await after.outcome(), Outcome.SUCCEEDED)
})

test('an owner renews its lease for as long as it works', async () => {
  await using service = await openSessionService({ leaseMs: 4_000 })
  await service.create()
  service.peers.tools.work = async function* (request, signal) {
    await new Promise((resolve) => setTimeout(resolve, 6_000))
    yield* says('worked')(request, signal)
  }
  service.peers.turns.push(calls({ id: 'a', name: 'work' }))
  await service.prompt('Work')
  await service.wait()
  assert.equal((await service.calls())[0]?.state, 3)
  assert.deepEqual(service.peers.ended, [])
})
