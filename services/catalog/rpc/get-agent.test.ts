import assert from 'node:assert/strict'
import { test } from 'node:test'
import { reasonOf } from '#shared/rejection.ts'
import { asOperator, openCatalog, writeFiles } from '#test/support/catalog.ts'

test('gets an agent by id, and the default one without', async () => {
  await using catalog = await openCatalog()
  const { agent, location } = await catalog.client.getAgent({ agentId: 'explore' }, asOperator)
  assert.equal(agent?.agentId, 'explore')
  assert.equal(location?.directory, catalog.project)
  assert.equal((await catalog.client.getAgent({}, asOperator)).agent?.agentId, 'build')
})

test('an unknown agent, and a default one where there is none, is AGENT_NOT_FOUND', async () => {
  await using catalog = await openCatalog()
  const disabled = ['build', 'plan'].map((id) => [id, { disabled: true }])
  await writeFiles(catalog.project, { 'opencode.json': JSON.stringify({ agents: Object.fromEntries(disabled) }) })
  for (const agentId of ['nobody', 'build', '', '__proto__']) {
    await assert.rejects(catalog.client.getAgent({ agentId }, asOperator), (error) => {
      const { reason, metadata } = reasonOf(error) ?? {}
      assert.deepEqual(
        { reason, metadata: { ...metadata } },
        { reason: 'AGENT_NOT_FOUND', metadata: { agent_id: agentId } },
      )
      return true
    })
  }
})
