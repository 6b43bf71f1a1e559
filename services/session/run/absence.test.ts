import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Code, ConnectError } from '@connectrpc/connect'
import { AssistantTool_State } from '#gen/portico/session/v1/message_pb.js'
import { Outcome } from '#gen/portico/session/v1/session_pb.js'
import type { Routes } from '#shared/rpc/routes.ts'
import { type Peers, scriptedPeers } from '#test/support/session-peers.ts'
import { asKey, openSessionService, type SessionFixture } from '#test/support/session-service.ts'
import { calls } from '#test/support/session-turns.ts'

const OUTAGE_MS = 31_000
const sum = (all: readonly number[]): number => all.reduce((total, each) => total + each, 0)

/** Routes whose method fails for as long as `away` holds. */
function flaky(routes: Routes, method: string, away: () => boolean): Routes {
  const services = routes.services.map((each) => {
    const handler = each.implementation[method] as (...words: unknown[]) => unknown
    const implementation = {
      ...each.implementation,
      [method]: (...words: unknown[]) => {
        if (away()) throw new ConnectError('away', Code.Unavailable)
        return handler(...words)
      },
    }
    return { ...each, implementation }
  })
  return { ...routes, services }
}

/** Runs a step with a tool call and one after it, while a method of a peer is away for so long. */
async function runDuring(peer: 'catalog' | 'inference', method: string, outageMs: number): Promise<SessionFixture> {
  const scripted = scriptedPeers()
  scripted.turns.push(calls({ id: 'call_1', name: 'look' }))
  const pauses: number[] = []
  const away = (): boolean => sum(pauses) < outageMs
  const peers: Peers = Object.assign(scripted, { [peer]: flaky(scripted[peer], method, away) })
  const service = await openSessionService({
    peers,
    pause: async (ms, signal) => {
      pauses.push(ms)
      await new Promise((resolve) => setImmediate(resolve))
      signal.throwIfAborted()
    },
  })
  await service.create()
  await service.prompt('Hi')
  await service.wait()
  return service
}

const METHODS = [
  ['catalog', 'getAgent'],
  ['catalog', 'listTools'],
  ['catalog', 'prepareTool'],
  ['inference', 'listModels'],
  ['inference', 'streamGenerate'],
] as const

for (const [peer, method] of METHODS) {
  test(`${peer} is away for more than 30 s when a run calls ${method}: the run waits and goes on`, async () => {
    await using service = await runDuring(peer, method, OUTAGE_MS)
    assert.equal(await service.outcome(), Outcome.SUCCEEDED)
    assert.deepEqual(
      (await service.calls()).map(({ state }) => state),
      [AssistantTool_State.COMPLETED],
    )
    assert.equal(service.peers.started.length, 1)
    assert.ok(sum(service.pauses) >= OUTAGE_MS)
  })
}

test('an answer is requested again when a peer breaks it off and then stays away for more than 30 s', async () => {
  await using service = await openSessionService()
  await service.create()
  const broken = async function* () {
    yield [{ event: { case: 'partStarted' as const, value: { index: 0, kind: 1 } } }]
    throw new ConnectError('cut', Code.Unavailable)
  }
  for (let i = 0; i < 12; i++) service.peers.turns.push(broken)
  await service.prompt('Hi')
  await service.wait()
  assert.equal(await service.outcome(), Outcome.SUCCEEDED)
  assert.ok(sum(service.pauses) >= OUTAGE_MS)
})

for (const [peer, method] of METHODS) {
  test(`${peer} stays away from ${method}: it is waited for within limits`, async () => {
    await using service = await runDuring(peer, method, Number.POSITIVE_INFINITY)
    assert.ok(sum(service.pauses) <= 120_000)
  })
}

test('an interrupt ends the wait for a peer', async () => {
  const waits = Promise.withResolvers<void>()
  const scripted = scriptedPeers()
  const peers = Object.assign(scripted, { catalog: flaky(scripted.catalog, 'getAgent', () => true) })
  await using service = await openSessionService({
    peers,
    pause: (_, signal) =>
      new Promise((_, reject) => {
        waits.resolve()
        signal.addEventListener('abort', () => reject(signal.reason))
      }),
  })
  await service.create()
  await service.prompt('Hi')
  await waits.promise
  await service.client.interruptSession({ sessionId: 'ses_1' }, asKey)
  await service.wait()
  assert.equal(await service.outcome(), Outcome.INTERRUPTED)
})
