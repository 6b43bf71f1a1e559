import assert from 'node:assert/strict'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { Outcome } from '#gen/portico/session/v1/session_pb.js'
import { type Clock, systemClock } from '#shared/clock.ts'
import { afterKill } from '#test/support/after-kill.ts'
import { scriptedPeers } from '#test/support/session-peers.ts'
import { eventsUntil, openSessionService, type SessionFixture } from '#test/support/session-service.ts'
import { calls, hangingTool, hangs } from '#test/support/session-turns.ts'
import { waitFor } from '#test/support/wait-until.ts'

/** How each run ended. */
async function ends(service: SessionFixture): Promise<unknown[]> {
  return (await service.messages()).flatMap(({ kind }) =>
    kind.case === 'idle' ? [[Outcome[kind.value.outcome], kind.value.error?.type]] : [],
  )
}

async function assertAfresh(service: SessionFixture): Promise<void> {
  await service.prompt('Again', { messageId: 'msg_again' })
  await service.wait()
  assert.equal(await service.outcome(), Outcome.SUCCEEDED)
}

/** Goes on with what a killed process left, until the model is asked, and is killed then. */
async function killedAgain(directory: string): Promise<string> {
  const peers = scriptedPeers()
  peers.turns.push(hangs())
  await using service = await openSessionService({ directory, peers })
  await waitFor('the model to be asked', () => peers.requests.length === 1)
  return await afterKill(service)
}

test('a run whose process was killed five times in one step has failed, and the next prompt starts afresh', async () => {
  await using service = await openSessionService()
  await service.create()
  service.peers.turns.push(hangs())
  const { events } = await eventsUntil(service.client, 'partExtended')
  await service.prompt('Hi')
  await events
  let directory = await afterKill(service)
  for (let kills = 1; kills < 5; kills++) directory = await killedAgain(directory)
  await using after = await openSessionService({ directory })
  await after.wait()
  assert.deepEqual(await ends(after), [['FAILED', 'internal']])
  assert.deepEqual(after.peers.requests, [], 'it was not tried a sixth time')
  assert.ok((await after.steps()).every(({ completeTime }) => completeTime !== undefined))
  await assertAfresh(after)
})

test('a run that makes progress between the kills goes on, and so does one that was released in order', async () => {
  await using service = await openSessionService()
  await service.create()
  service.peers.turns.push(hangs())
  const { events } = await eventsUntil(service.client, 'partExtended')
  await service.prompt('Hi')
  await events
  let directory = await afterKill(service)
  for (let round = 0; round < 8; round++) {
    const peers = scriptedPeers()
    if (round % 2 === 0) peers.turns.push(calls({ id: 'a', name: 'look' }))
    peers.turns.push(hangs())
    await using next = await openSessionService({ directory, peers })
    await waitFor('the last turn to begin', () => peers.turns.length === 0)
    directory = await afterKill(next)
  }
  for (let shutdowns = 0; shutdowns < 8; shutdowns++) {
    const peers = scriptedPeers()
    peers.turns.push(hangs())
    await using _ = await openSessionService({ directory, peers })
    await waitFor('the model to be asked', () => peers.requests.length === 1)
  }
  await using after = await openSessionService({ directory })
  await after.wait()
  assert.deepEqual(await ends(after), [['SUCCEEDED', undefined]])
})

test('a run that fails each time for an unforeseen reason fails in the end, once', async () => {
  await using service = await openSessionService()
  await service.create()
  const tool = hangingTool()
  service.peers.tools.sleep = tool.script
  service.peers.turns.push(calls({ id: 'a', name: 'sleep' }))
  await service.prompt('Sleep')
  await tool.running
  const directory = await afterKill(service)
  const unreadable = new DatabaseSync(join(directory, 'session.sqlite'))
  const { changes } = unreadable.prepare('UPDATE messages SET data = ? WHERE unfinished = 1').run('{')
  unreadable.close()
  assert.equal(changes, 1)
  let late = 0
  const clock: Clock = { now: () => systemClock.now() + late, monotonic: () => systemClock.monotonic() }
  const leaseMs = 3_600_000
  const peers = scriptedPeers()
  await using after = await openSessionService({ directory, peers, clock, leaseMs, pollMs: 20 })
  for (let attempts = 1; attempts <= 4; attempts++) {
    await waitFor('the next attempt', () => peers.ended.length === attempts)
    // The lease of an attempt that failed runs out.
    late += leaseMs
  }
  await waitFor('the end of the run', async () => (await after.outcome()) !== undefined)
  assert.equal(await after.outcome(), Outcome.FAILED)
  // The first attempt was that of the process that was killed.
  assert.equal(peers.ended.length, 5, 'four attempts, and the end')
  assert.deepEqual(peers.requests, [])
})
