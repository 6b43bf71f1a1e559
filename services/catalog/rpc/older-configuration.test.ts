import assert from 'node:assert/strict'
import { PermissionRule_Effect as RuleEffect } from '#gen/portico/catalog/v1/catalog_pb.js'
import { asOperator, type CatalogFixture, catalogTest, writeFiles } from '#test/support/catalog.ts'

async function find(catalog: CatalogFixture, id: string) {
  const { agents } = await catalog.client.listAgents({}, asOperator)
  return agents.find(({ agentId }) => agentId === id)
}

// The rules of an agent after those of one without configuration.
async function rules(catalog: CatalogFixture, document: object, id = 'build', builtin = 6) {
  await writeFiles(catalog.project, { 'opencode.json': JSON.stringify(document) })
  return (await find(catalog, id))?.permissions
    .slice(builtin)
    .map(({ action, resource, effect }) => `${action} ${resource} ${RuleEffect[effect]}`)
}

catalogTest('tools and permission of opencode.json become rules before those of permissions', async (catalog) => {
  const permissions = [{ action: 'bash', resource: 'git *', effect: 'allow' }]
  const tools = { write: false, webfetch: true, 'files_*': false }
  assert.deepEqual(
    await rules(catalog, { tools, permission: { bash: { '*': 'ask', 'rm *': 'deny' }, edit: 'allow' }, permissions }),
    [
      'edit * DENY',
      'webfetch * ALLOW',
      'files_* * DENY',
      'mcp files?* DENY',
      'bash * ASK',
      'bash rm * DENY',
      'edit * ALLOW',
      'bash git * ALLOW',
    ],
  )
  assert.deepEqual(await rules(catalog, { permission: 'deny' }), ['* * DENY'])
  assert.deepEqual(await rules(catalog, { permission: { '*': 'allow', 'files_*': 'ask' } }), [
    '* * ALLOW',
    'files_* * ASK',
    'mcp files?* ASK',
  ])
  assert.deepEqual(await rules(catalog, { permission: { 'files_*': { '*': 'deny', '/safe/*': 'allow' } } }), [
    'files_* * DENY',
    'mcp files?* DENY',
    'files_* /safe/* ALLOW',
  ])
  assert.deepEqual(await rules(catalog, { permission: { '*': 'deny', 'b*': { ls: 'allow' } } }), [
    '* * DENY',
    'b* ls ALLOW',
  ])
  assert.deepEqual(catalog.warnings, [])
})

catalogTest('agents of the key agent are read, and members of agents take precedence', async (catalog) => {
  const agent = {
    build: { prompt: 'Old.', maxSteps: 3, temperature: 0.1, permission: { bash: 'ask' } },
    helper: { description: 'helps', prompt: 'Help.', tools: { bash: false } },
    plan: { disable: true },
  }
  const agents = { build: { system: 'New.', permissions: [{ action: 'read', resource: 'x', effect: 'deny' }] } }
  assert.deepEqual(await rules(catalog, { agent, agents }), ['bash * ASK', 'read x DENY'])
  const build = await find(catalog, 'build')
  assert.deepEqual([build?.system, build?.steps, build?.requestBody], ['New.', 3, { temperature: 0.1 }])
  assert.deepEqual(await rules(catalog, { agent, agents }, 'helper'), ['bash * DENY'])
  assert.equal((await find(catalog, 'helper'))?.system, 'Help.')
  assert.equal(await find(catalog, 'plan'), undefined)
})

catalogTest('parts of the older form that are not understood require permission for everything', async (catalog) => {
  const ask = ['* * ASK']
  for (const document of [
    { permission: { bash: 'never' } },
    { permission: ['bash'] },
    { tools: { bash: 'no' } },
    { tools: ['bash'] },
    { agent: ['build'] },
    { agents: ['build'] },
    { permission: { bash: 'deny' }, permissions: { bash: 'deny' } },
    { agent: { build: false } },
    { agent: { build: { permission: { bash: { '*': 1 } } } } },
    { agent: { build: { tools: { bash: 'false' } } } },
    { agent: { build: { mode: 'sometimes', permission: { bash: 'deny' } } } },
    { agent: { build: { permission: { bash: 'deny' }, permissions: 'none' } } },
    { agent: { build: { permission: { bash: 'deny' } } }, agents: { build: 'none' } },
    { agents: { build: { permissions: {} } } },
  ]) {
    const before = catalog.warnings.length
    assert.deepEqual(await rules(catalog, document), ask, JSON.stringify(document))
    assert.ok(catalog.warnings.length > before, JSON.stringify(document))
  }
  await writeFiles(catalog.project, { 'opencode.json': '{"agent":{"alone":{"permission":"never"}}}' })
  assert.equal(await find(catalog, 'alone'), undefined, 'an agent that is defined nowhere else is left out')
})
