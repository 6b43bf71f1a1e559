import assert from 'node:assert/strict'
import { asOperator, catalogTest, rejection, writeFiles } from '#test/support/catalog.ts'

catalogTest('gets an agent by id, and the default one without', async (catalog) => {
  const { agent, location } = await catalog.client.getAgent({ agentId: 'explore' }, asOperator)
  assert.equal(agent?.agentId, 'explore')
  assert.equal(location?.directory, catalog.project)
  assert.equal((await catalog.client.getAgent({}, asOperator)).agent?.agentId, 'build')
})

catalogTest('an unknown agent, or a missing default one, is AGENT_NOT_FOUND', async (catalog) => {
  const disabled = ['build', 'plan'].map((id) => [id, { disabled: true }])
  await writeFiles(catalog.project, { 'opencode.json': JSON.stringify({ agents: Object.fromEntries(disabled) }) })
  for (const agentId of ['nobody', 'build', '', '__proto__']) {
    await assert.rejects(
      catalog.client.getAgent({ agentId }, asOperator),
      rejection('AGENT_NOT_FOUND', { agent_id: agentId }),
    )
  }
})
