import assert from 'node:assert/strict'
import { test } from 'node:test'
import { AssistantTool_State as State } from '#gen/portico/session/v1/message_pb.js'
import { Outcome } from '#gen/portico/session/v1/session_pb.js'
import { openSessionService } from '#test/support/session-service.ts'
import { calls } from '#test/support/session-turns.ts'

test('at most 16 of a step’s many calls are prepared or run at a time, and all complete', async () => {
  await using service = await openSessionService()
  await service.create()
  let [working, most] = [0, 0]
  const work = async (): Promise<void> => {
    working++
    most = Math.max(most, working)
    for (let turns = 0; turns < 5; turns++) await new Promise((resolve) => setImmediate(resolve))
    working--
  }
  service.peers.onPrepare = work
  service.peers.tools.look = async function* () {
    await work()
    yield { event: { case: 'completed', value: { content: [] } } }
  }
  service.peers.turns.push(calls(...Array.from({ length: 50 }, (_, index) => ({ id: `call_${index}`, name: 'look' }))))
  await service.prompt('Look at everything')
  await service.wait()
  assert.equal(await service.outcome(), Outcome.SUCCEEDED)
  const states = (await service.calls()).map(({ state }) => state)
  assert.deepEqual([states.length, new Set(states), most], [50, new Set([State.COMPLETED]), 16])
})
