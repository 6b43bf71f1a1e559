import assert from 'node:assert/strict'
import test from 'node:test'
import { InstanceClient } from '#test/support/instance-client.ts'
import { openPortico, type Portico } from '#test/support/portico.ts'
import { statsAgree } from '#test/support/stats-of.ts'

const PATH = '/api/experimental/session/stats'
const TOKENS = { input: 0, output: 0, reasoning: 0, cache: { read: 0, write: 0 } }

async function statsOf(portico: Portico, query: Readonly<Record<string, string>> = {}) {
  const answer = await portico.fetch(`${PATH}?${new URLSearchParams(query)}`)
  assert.equal(answer.status, 200, await answer.clone().text())
  return ((await answer.json()) as { data: { range: { from: number; to: number }; steps: number } }).data
}

test('reports zeros for a range without activity, given or ending now', async () => {
  await using portico = await openPortico()
  const nothing = { sessions: 0, subagents: 0, prompts: 0, steps: 0, tokens: TOKENS, cost: 0, activeDays: 0, streak: 0 }
  const none = { ...nothing, activity: [], models: [] }
  const totals = { calls: 0, succeeded: 0, failed: 0, unfinished: 0 }
  const range = { from: 5, to: 7 }
  assert.deepEqual(await statsOf(portico, { from: '5', to: '7' }), {
    range,
    ...none,
    tools: { mode: 'summary', totals },
  })
  assert.deepEqual(await statsOf(portico, { from: '5', to: '7', tools: 'none' }), {
    range,
    ...none,
    tools: { mode: 'none' },
  })
  const detail = { mode: 'detail', totals, usage: [] }
  assert.deepEqual(await statsOf(portico, { from: '5', to: '7', tools: 'detail' }), { range, ...none, tools: detail })
  const { range: now } = (await statsOf(portico, { timezone: 'Asia/Kathmandu', from: '', to: '' })) as {
    range: typeof range
  }
  assert.equal(now.from, now.to)
})

test('runs are counted in total, and by time, project, model and tool', async () => {
  await using portico = await openPortico({}, { 'README.md': '# Lighthouse' })
  const client = new InstanceClient(portico.url)
  const id = await client.createSession({ id: 'ses_a' })
  await client.createSession({ id: 'ses_idle' })
  await client.prompt('ses_idle', { text: 'Later.', resume: false })
  await client.prompt(id, { text: '/tool read {"path":"README.md"}\n/tool read {"path":"nothing.md"}' })
  await client.wait(id)
  await statsAgree(client)
  const messages = (await client.messages(id)) as unknown as {
    type: string
    tokens: typeof TOKENS
    cost: number
    time: { created: number }
    content: { type: string; time: { created: number; ran?: number; completed: number } }[]
  }[]
  const steps = messages.filter(({ type }) => type === 'assistant')
  const sum = (of: (step: (typeof steps)[number]) => number) => steps.map(of).reduce((a, b) => a + b, 0)
  const tokens = {
    ...{ input: sum((step) => step.tokens.input), output: sum((step) => step.tokens.output) },
    ...{ reasoning: sum((step) => step.tokens.reasoning), cache: TOKENS.cache },
  }
  const durations = steps
    .flatMap(({ content }) => content)
    .filter(({ type }) => type === 'tool')
    .map(({ time }) => time.completed - (time.ran ?? time.created))
  assert.equal(durations.length, 2)
  const calls = { calls: 2, succeeded: 1, failed: 1, unfinished: 0 }
  const from = messages[0]?.time.created as number
  const to = Math.max(...steps.map(({ time }) => time.created)) + 1
  const date = new Date(from).toISOString().slice(0, 10)
  const whole = {
    ...{
      range: { from, to },
      sessions: 1,
      subagents: 0,
      prompts: 1,
      steps: 2,
      tokens,
      cost: 0,
      activeDays: 1,
      streak: 1,
    },
    tools: {
      mode: 'detail',
      totals: calls,
      usage: [{ name: 'read', ...calls, durationP50: ((durations[0] ?? 0) + (durations[1] ?? 0)) / 2 }],
    },
    activity: [{ date, steps: 2 }],
    models: [{ model: { providerID: 'portico', id: 'echo' }, steps: 2, tokens, cost: 0 }],
  }
  const query = { from: `${from}`, to: `${to}`, tools: 'detail' }
  assert.deepEqual(await statsOf(portico, query), whole)
  assert.deepEqual(await statsOf(portico, { ...query, from: '', project: 'global' }), whole)
  assert.equal((await statsOf(portico, { project: 'other' })).steps, 0)
  assert.equal((await statsOf(portico, { ...query, to: `${to - 1}` })).steps, 1)
  assert.equal((await statsOf(portico, { from: `${to}`, to: `${to + 1}` })).steps, 0)
  assert.deepEqual((await statsOf(portico, { ...query, timezone: 'Pacific/Kiritimati' })).steps, 2)
})

test('a bad query is 400 and names its parameter', async () => {
  await using portico = await openPortico()
  const range = 'from: must be before the end of the range'
  const zone = 'timezone: must be the IANA name of a time zone'
  const cases: [string, string, object][] = [
    ['from=5&to=5', range, { field: 'from' }],
    ['from=6&to=5', range, { field: 'from' }],
    ['from=999999999999999', range, { field: 'from' }],
    ['timezone=Europe/Atlantis', zone, { field: 'timezone' }],
    ['timezone=%2B01:00', zone, { field: 'timezone' }],
    ['from=-1', 'from: must be milliseconds since the epoch', { kind: 'Query' }],
    ['to=2026-01-01', 'to: must be milliseconds since the epoch', { kind: 'Query' }],
    ['tools=all', 'tools: must be "none", "summary" or "detail"', { kind: 'Query' }],
    ['from[a]=1', 'from: must be a string', { kind: 'Query' }],
  ]
  for (const [query, message, more] of cases) {
    const answer = await portico.fetch(`${PATH}?${query}`)
    assert.equal(answer.status, 400, query)
    assert.deepEqual(await answer.json(), { _tag: 'InvalidRequestError', message, ...more })
  }
})
