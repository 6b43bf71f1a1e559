import assert from 'node:assert/strict'
import { access } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { AssistantTool_State as State } from '#gen/portico/session/v1/message_pb.js'
import { Outcome } from '#gen/portico/session/v1/session_pb.js'
import { longSleep, processesWith, writeFiles } from '#test/support/catalog.ts'
import { PRINTING } from '#test/support/printing.ts'
import { openRealTools } from '#test/support/real-tools.ts'
import { asKey, type SessionFixture } from '#test/support/session-service.ts'
import { calls } from '#test/support/session-turns.ts'
import { waitFor } from '#test/support/wait-until.ts'

const exists = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  )

async function interrupt({ client }: SessionFixture): Promise<void> {
  assert.equal((await client.interruptSession({ sessionId: 'ses_1' }, asKey)).interrupted, true)
}

/** The run has ended as interrupted, its calls as aborted, and the next prompt is answered. */
async function assertInterrupted(service: SessionFixture): Promise<void> {
  await service.wait()
  assert.deepEqual(
    (await service.calls()).map(({ error }) => error?.type),
    ['aborted'],
  )
  assert.equal(await service.outcome(), Outcome.INTERRUPTED)
  await service.prompt('Go on')
  await service.wait()
  assert.equal(await service.outcome(), Outcome.SUCCEEDED)
}

for (const [how, command] of Object.entries(PRINTING)) {
  test(`a command that prints ${how} is interrupted, and leaves nothing behind when the run ends`, async () => {
    await using tools = await openRealTools()
    const { catalog, service } = tools
    await tools.create()
    const tag = longSleep()
    const whole = `: ${tag}; touch begun; ${command}; touch done`
    service.peers.turns.push(calls({ id: 'a', name: 'bash', input: { command: whole } }))
    await service.prompt('Print')
    await waitFor('the command has begun', () => exists(join(catalog.project, 'begun')))
    await interrupt(service)
    await service.wait()
    assert.deepEqual(await processesWith(tag), [])
    assert.equal(await exists(join(catalog.project, 'done')), false)
    await assertInterrupted(service)
  })
}

test('a search that would take for ever is interrupted', async () => {
  await using tools = await openRealTools()
  const { catalog, service } = tools
  await tools.create()
  await writeFiles(catalog.project, { 'a.txt': `${'a'.repeat(50_000)}!` })
  service.peers.turns.push(calls({ id: 'a', name: 'grep', input: { pattern: '(a+)+$' } }))
  await service.prompt('Search')
  await waitFor('the call is written as called', async () => (await service.calls())[0]?.state === State.RUNNING)
  await interrupt(service)
  await assertInterrupted(service)
})
