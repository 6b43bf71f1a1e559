import assert from 'node:assert/strict'
import test from 'node:test'
import { openPortico } from '#test/support/portico.ts'

const reviewer = `---
description: Reviews code
mode: subagent
model: openai/gpt-5#high
color: "#ff0000"
steps: 3
---
Be strict.
`

interface Agent {
  readonly id: string
  readonly mode: string
  readonly permissions: unknown[]
}

test('agent.list answers the location and every agent, the default one first', async () => {
  const enabled = { '.opencode/opencode.json': '{"agents":{"title":{"disabled":false}}}' }
  await using portico = await openPortico({}, { '.opencode/agents/team/reviewer.md': reviewer, ...enabled })
  const answer = await portico.fetch('/api/agent')
  assert.equal(answer.status, 200)
  const { location, data } = (await answer.json()) as { location: unknown; data: Agent[] }
  assert.deepEqual(location, { directory: portico.project })
  assert.equal(data[0]?.id, 'build')
  const ids = data.map(({ id }) => id)
  for (const id of ['plan', 'general', 'explore', 'compaction', 'title', 'summary', 'team/reviewer']) {
    assert.ok(ids.includes(id), id)
  }
})

test('agent.get answers one agent, whose id may have a slash', async () => {
  await using portico = await openPortico({}, { '.opencode/agents/team/reviewer.md': reviewer })
  const answer = await portico.fetch(`/api/agent/${encodeURIComponent('team/reviewer')}`)
  assert.equal(answer.status, 200)
  const { location, data } = (await answer.json()) as { location: unknown; data: Agent }
  assert.deepEqual(location, { directory: portico.project })
  const { permissions, ...agent } = data
  assert.deepEqual(agent, {
    id: 'team/reviewer',
    name: 'team/reviewer',
    model: { id: 'gpt-5', providerID: 'openai', variant: 'high' },
    request: { settings: {}, headers: {}, body: {} },
    system: 'Be strict.',
    description: 'Reviews code',
    mode: 'subagent',
    hidden: false,
    color: '#ff0000',
    steps: 3,
  })
  assert.deepEqual(permissions[0], { action: '*', resource: '*', effect: 'allow' })
})

test('an unknown agent is 404', async () => {
  await using portico = await openPortico()
  const answer = await portico.fetch('/api/agent/nobody')
  assert.equal(answer.status, 404)
  const message = 'Agent not found: nobody'
  assert.deepEqual(await answer.json(), { _tag: 'AgentNotFoundError', message, agentID: 'nobody' })
})
