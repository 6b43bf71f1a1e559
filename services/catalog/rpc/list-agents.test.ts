// A process of its own: it measures how long the event loop is blocked.
import assert from 'node:assert/strict'
import { mkdir, rm, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { Agent_Mode as Mode, PermissionRule_Effect as RuleEffect } from '#gen/portico/catalog/v1/catalog_pb.js'
import { asOperator, type CatalogFixture, catalogTest, writeFiles } from '#test/support/catalog.ts'
import { heldDuring, MOST_HELD_MS } from '#test/support/held.ts'

async function list(catalog: CatalogFixture, directory?: string) {
  return (await catalog.client.listAgents({ directory }, asOperator)).agents
}

async function find(catalog: CatalogFixture, id: string) {
  const agent = (await list(catalog)).find(({ agentId }) => agentId === id)
  assert.ok(agent, `${id} is listed`)
  return agent
}

const DEFAULTS = [
  '* * ALLOW',
  'external_directory * ASK',
  'mcp * ASK',
  'read *.env ASK',
  'read *.env.* ASK',
  'read *.env.example ALLOW',
]

const rulesOf = (agent: Awaited<ReturnType<typeof find>>) =>
  agent.permissions.map(({ action, resource, effect }) => `${action} ${resource} ${RuleEffect[effect]}`)

catalogTest('the built-in agents are listed without any configuration, build first', async (catalog) => {
  const agents = await list(catalog)
  assert.deepEqual(
    agents.map(({ agentId, mode, hidden }) => [agentId, Mode[mode], hidden]),
    [
      ['build', 'PRIMARY', false],
      ['plan', 'PRIMARY', false],
      ['general', 'SUBAGENT', false],
      ['explore', 'SUBAGENT', false],
      ['compaction', 'PRIMARY', true],
      ['title', 'PRIMARY', true],
      ['summary', 'PRIMARY', true],
    ],
  )
  assert.deepEqual(rulesOf(await find(catalog, 'build')), DEFAULTS)
  assert.deepEqual(rulesOf(await find(catalog, 'plan')), [
    ...DEFAULTS,
    'edit * DENY',
    'edit .opencode/plans/*.md ALLOW',
    'bash * ASK',
    'task * DENY',
    'task explore ALLOW',
  ])
  const explore = rulesOf(await find(catalog, 'explore'))
  assert.deepEqual(
    explore.slice(DEFAULTS.length, -3),
    ['* * DENY', 'read * ALLOW', 'list * ALLOW', 'glob * ALLOW', 'grep * ALLOW', 'bash * ASK'],
    'what promises to change nothing runs no command without asking',
  )
})

catalogTest(
  'a configured agent has every member that the document gives, and defaults for the rest',
  async (catalog) => {
    await writeFiles(catalog.project, {
      'opencode.jsonc': `{
      // comments and trailing commas are fine
      "agents": {
        "review": {
          "model": "openrouter/anthropic/claude-x#high",
          "request": { "headers": { "x-a": "1" }, "body": { "temperature": 0.5 }, "settings": { "timeout": false } },
          "system": "Review.", "description": "Reviews", "mode": "all", "hidden": true, "color": "#a0B1c2", "steps": 7,
          "permissions": [{ "action": "edit", "resource": "*", "effect": "deny" }],
        },
        "plain": {},
      },
    }`,
    })
    const { $typeName, permissions, model, ...review } = await find(catalog, 'review')
    assert.deepEqual(
      { ...review, model: { providerId: model?.providerId, modelId: model?.modelId, variant: model?.variant } },
      {
        agentId: 'review',
        name: 'review',
        description: 'Reviews',
        mode: Mode.ALL,
        hidden: true,
        color: '#a0B1c2',
        system: 'Review.',
        model: { providerId: 'openrouter', modelId: 'anthropic/claude-x', variant: 'high' },
        steps: 7,
        requestHeaders: { 'x-a': '1' },
        requestBody: { temperature: 0.5 },
        requestSettings: { timeout: false },
      },
    )
    const { $typeName: _, permissions: rules, model: none, ...plain } = await find(catalog, 'plain')
    assert.equal(none, undefined)
    assert.equal(rules.length, DEFAULTS.length)
    assert.deepEqual(plain, {
      agentId: 'plain',
      name: 'plain',
      mode: Mode.PRIMARY,
      hidden: false,
      requestHeaders: {},
      requestBody: {},
      requestSettings: {},
    })
  },
)

catalogTest(
  'members of nearer documents take precedence; rules add up: defaults, built-in, for all, for the agent',
  async (catalog) => {
    const rule = (action: string, resource = '*') => ({ action, resource, effect: 'deny' })
    const document = (name: string, more: object = {}) =>
      JSON.stringify({
        permissions: [rule(`all-${name}`)],
        agents: { plan: { description: name, permissions: [rule(name)], ...more } },
      })
    await writeFiles(catalog.config, {
      'opencode.json': document('global', { steps: 3, color: '#000000' }),
      'agents/plan.md': '---\ndescription: markdown\nsteps: 4\n---\nBy hand.',
    })
    await writeFiles(catalog.project, {
      'opencode.json': document('json'),
      'opencode.jsonc': document('jsonc'),
      '.opencode/opencode.json': document('dot', {
        permissions: [rule('read', '~/x'), rule('edit', '$HOME'), rule('bash', '~')],
      }),
    })
    const plan = await find(catalog, 'plan')
    assert.deepEqual(
      [plan.description, plan.steps, plan.color, plan.system, plan.mode],
      ['dot', 4, '#000000', 'By hand.', Mode.PRIMARY],
    )
    const home = join(catalog.project, '..')
    assert.deepEqual(rulesOf(plan), [
      ...DEFAULTS,
      'edit * DENY',
      'edit .opencode/plans/*.md ALLOW',
      'bash * ASK',
      'task * DENY',
      'task explore ALLOW',
      'all-global * DENY',
      'all-json * DENY',
      'all-jsonc * DENY',
      'all-dot * DENY',
      'global * DENY',
      'json * DENY',
      'jsonc * DENY',
      `read ${home}/x DENY`,
      `edit ${home} DENY`,
      'bash ~ DENY',
    ])
  },
)

catalogTest('Markdown files of agent, agents, mode and modes define agents by their paths', async (catalog) => {
  await writeFiles(join(catalog.project, '.opencode'), {
    'agent/one.md': 'First.',
    'agents/deep/er/two.md': '---\nname: Two\nmode: subagent\nmodel: openai/gpt-5\nvariant: low\n---\nSecond.',
    'mode/three.md': '---\nmode: subagent\n---\nThird.',
    'modes/four.md': 'Fourth.',
    'modes/deep/five.md': 'Not found: modes are flat.',
    'agents/notes.txt': 'no agent',
  })
  const own = (await list(catalog)).slice(7)
  assert.deepEqual(
    own.map(({ agentId, name, mode, system }) => [agentId, name, Mode[mode], system]),
    [
      ['one', 'one', 'PRIMARY', 'First.'],
      ['deep/er/two', 'Two', 'SUBAGENT', 'Second.'],
      ['three', 'three', 'PRIMARY', 'Third.'],
      ['four', 'four', 'PRIMARY', 'Fourth.'],
    ],
  )
  assert.equal(own[1]?.model?.variant, 'low')
})

catalogTest('front matter with unknown keys is read as the older form', async (catalog) => {
  await writeFiles(catalog.config, {
    'agent/old.md': [
      '---',
      'temperature: 0.1',
      'top_p: 0.9',
      'reasoningEffort: high',
      'maxSteps: 5',
      'color: primary',
      'tools: { write: false, webfetch: true }',
      'permission: { edit: ask, bash: { "*": ask, "git *": allow } }',
      'options: { a: { b: 1 } }',
      '---',
      'Old.',
    ].join('\n'),
    'agent/gone.md': '---\ndisable: true\n---\n',
    'agent/prompted.md': '---\nprompt: From the key\npermission: deny\n---\n',
  })
  const old = await find(catalog, 'old')
  assert.deepEqual(old.requestBody, { temperature: 0.1, top_p: 0.9, reasoningEffort: 'high', a: { b: 1 } })
  assert.deepEqual([old.steps, old.color, old.system], [5, undefined, 'Old.'])
  assert.deepEqual(rulesOf(old).slice(DEFAULTS.length), [
    'edit * DENY',
    'webfetch * ALLOW',
    'edit * ASK',
    'bash * ASK',
    'bash git * ALLOW',
  ])
  assert.equal((await find(catalog, 'prompted')).system, 'From the key')
  assert.deepEqual(rulesOf(await find(catalog, 'prompted')).slice(DEFAULTS.length), ['* * DENY'])
  assert.equal(
    (await list(catalog)).some(({ agentId }) => agentId === 'gone'),
    false,
  )
})

catalogTest(
  'the default agent comes first if sessions may use it, else build, else the first that they may use',
  async (catalog) => {
    const first = async (document: object) => {
      await writeFiles(catalog.project, { 'opencode.json': JSON.stringify(document) })
      return (await list(catalog))[0]?.agentId
    }
    assert.equal(await first({ default_agent: 'plan' }), 'plan')
    assert.equal(await first({ default_agent: 'explore' }), 'build')
    assert.equal(await first({ default_agent: 'title' }), 'build')
    assert.equal(await first({ default_agent: 'nobody' }), 'build')
    assert.equal(await first({ agents: { build: { disabled: true } } }), 'plan')
  },
)

catalogTest('an unreadable document, agent or member is skipped and logged, and the rest counts', async (catalog) => {
  await writeFiles(catalog.config, {
    'opencode.json': '{ "agents": { "lost": {} ',
    'opencode.jsonc': JSON.stringify({
      agents: {
        bad: { mode: 'sometimes' },
        colored: { color: 'red' },
        stepped: { steps: 0 },
        ruled: { permissions: {} },
      },
    }),
    'agents/good.md': 'Good.',
    'agents/broken.md': '---\na: [1\n---\nBroken.',
    'agents/listed.md': '---\n- a\n---\n',
    'agents/modelled.md': '---\nmodel: nameless\n---\n',
    'agents/nan.md': '---\nrequest: { body: { x: .nan } }\n---\n',
    'agents/large.md': 'x'.repeat((256 << 10) + 1),
  })
  await writeFiles(catalog.project, { 'opencode.json': `{"a":"${'x'.repeat(1 << 20)}"}` })
  assert.deepEqual(
    (await list(catalog)).slice(7).map(({ agentId }) => agentId),
    ['good'],
  )
  await list(catalog)
  const problems = catalog.warnings.map(({ path, problem }) => [path?.split('/').slice(-2).join('/'), problem])
  assert.deepEqual(problems.length, 11, 'each once, not again for files that did not change')
  const reported = new Set(problems.map(([path]) => path))
  for (const name of ['broken', 'listed', 'modelled', 'nan', 'large'])
    assert.ok(reported.has(`agents/${name}.md`), name)
  assert.deepEqual(
    problems.filter(([path]) => path === 'config/opencode.jsonc').map(([, problem]) => problem),
    [
      'agents.bad.mode is not primary, subagent or all',
      'agents.colored.color is not of the form #rrggbb',
      'agents.stepped.steps is not an integer of 1 or more',
      'agents.ruled.permissions is not a list',
    ],
  )
})

catalogTest('front matter that takes long to read is skipped, and delays nobody', async (catalog) => {
  const room = (256 << 10) - 20
  const file = (matter: string) => `---\n${matter.slice(0, room)}\n---\nText.`
  await writeFiles(catalog.config, {
    'agents/anchors.md': file('&a '.repeat(room)),
    'agents/keys.md': file(Array.from({ length: 22_000 }, (_, i) => `k${i}: 1\n`).join('')),
    'agents/quotes.md': file('"'.repeat(room)),
    'agents/small.md': file(`description: ${'x'.repeat(15_000)}`),
  })
  const held = await heldDuring(async () => {
    const agents = (await list(catalog)).slice(7).map(({ agentId }) => agentId)
    assert.deepEqual(agents, ['small'])
  })
  assert.ok(held < MOST_HELD_MS, `${held} ms`)
})

catalogTest('unreadable rules for all agents require permission for everything', async (catalog) => {
  const permissions = [{ action: 'bash', resource: '*', effect: 'forbid' }]
  await writeFiles(catalog.project, { 'opencode.json': JSON.stringify({ permissions }) })
  assert.deepEqual(rulesOf(await find(catalog, 'build')), [...DEFAULTS, '* * ASK'])
})

catalogTest('a changed, new or removed file counts at the next call', async (catalog) => {
  const description = async () => (await find(catalog, 'build')).description
  const before = await description()
  await writeFiles(catalog.project, { '.opencode/agents/build.md': '---\ndescription: one\n---\n' })
  assert.equal(await description(), 'one')
  await writeFiles(catalog.project, { '.opencode/agents/build.md': '---\ndescription: second\n---\n' })
  assert.equal(await description(), 'second')
  await rm(join(catalog.project, '.opencode'), { recursive: true })
  assert.equal(await description(), before)
})

catalogTest('a project cannot show a file from outside of it as an agent', async (catalog) => {
  await writeFiles(catalog.outside, { 'secret.md': 'secret', 'opencode.json': '{"agents":{"out":{}}}' })
  await mkdir(join(catalog.project, '.opencode/agents'), { recursive: true })
  await symlink(join(catalog.outside, 'secret.md'), join(catalog.project, '.opencode/agents/secret.md'))
  await symlink(join(catalog.outside, 'opencode.json'), join(catalog.project, 'opencode.json'))
  assert.equal((await list(catalog)).length, 7)
})
