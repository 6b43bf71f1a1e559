import assert from 'node:assert/strict'
import test from 'node:test'
import { openPortico, type Portico } from '#test/support/portico.ts'

const IMPORT = '/api/experimental/session/import'
const STATS = '/api/experimental/session/stats'
const MOST_COST = 10_000_000
const MOST_TOKENS = 1_000_000_000_000
const NO_TOKENS = { input: 0, output: 0, reasoning: 0, cache: { read: 0, write: 0 } }
const ALL_TOKENS = {
  ...{ input: MOST_TOKENS, output: MOST_TOKENS, reasoning: MOST_TOKENS },
  cache: { read: MOST_TOKENS, write: MOST_TOKENS },
}

const model = { providerID: 'portico', id: 'echo' }
const time = { created: 1, completed: 2 }

function step(id: string, more: object = {}) {
  return { id: `msg_${id}`, type: 'assistant', agent: 'build', model, content: [], time, finish: 'stop', ...more }
}

function transfer(id: string, messages: readonly object[], info: object = {}) {
  return { info: { id, cost: 0, tokens: NO_TOKENS, time: { created: 1 }, ...info }, messages }
}

function call(id: string, name: string, content: readonly object[] = [{ type: 'text', text: 'x' }]) {
  return { type: 'tool', id, name, state: { status: 'completed', input: {}, content }, time }
}

interface Stats {
  readonly cost: number
  readonly steps: number
  readonly tokens: typeof NO_TOKENS
  readonly tools: { readonly totals: { readonly calls: number }; readonly usage: readonly { readonly name: string }[] }
  readonly models: readonly unknown[]
}

async function statsOf(portico: Portico): Promise<Stats> {
  const answer = await portico.fetch(`${STATS}?tools=detail`)
  assert.equal(answer.status, 200, await answer.clone().text())
  return ((await answer.json()) as { data: Stats }).data
}

test('refuses an impossible cost or usage by its member, in a session and in each message', async () => {
  await using portico = await openPortico()
  const tooMany = { ...NO_TOKENS, input: MOST_TOKENS + 1 }
  const compaction = { type: 'compaction', status: 'completed', reason: 'auto', summary: '', recent: '' }
  const refused: [string, object][] = [
    ['info.cost', transfer('ses_a', [], { cost: MOST_COST + 1 })],
    ['info.tokens', transfer('ses_a', [], { tokens: tooMany })],
    ['messages.0.cost', transfer('ses_a', [step('1', { cost: 9_000_000_000 })])],
    [
      'messages.0.tokens',
      transfer('ses_a', [step('1', { tokens: { ...NO_TOKENS, cache: { read: 0, write: 2 ** 53 - 1 } } })]),
    ],
    ['messages.0.cost', transfer('ses_a', [{ id: 'msg_1', ...compaction, time: { created: 1 }, cost: MOST_COST + 1 }])],
    ['messages.0.tokens', transfer('ses_a', [{ id: 'msg_1', ...compaction, time: { created: 1 }, tokens: tooMany }])],
    ['messages.0.content.[].name', transfer('ses_a', [step('1', { content: [call('c', 'x'.repeat(257))] })])],
  ]
  for (const [field, body] of refused) {
    const answer = await portico.post(IMPORT, body)
    assert.deepEqual([answer.status, ((await answer.json()) as { field?: string }).field], [400, field])
    assert.equal(portico.rejections.shift(), 'REQUEST_INVALID')
  }
  const most = { cost: MOST_COST, tokens: ALL_TOKENS }
  const body = transfer('ses_a', [step('1', { ...most, content: [call('c', 'x'.repeat(256))] })], most)
  assert.equal((await portico.post(IMPORT, body)).status, 200)
})

test('the totals of a session and the statistics of its workspace are returned, however much was imported', async () => {
  await using portico = await openPortico()
  const most = { cost: MOST_COST, tokens: ALL_TOKENS }
  const steps = Array.from({ length: 1_000 }, (_, n) => step(`${n}`, most))
  assert.equal((await portico.post(IMPORT, transfer('ses_a', steps, most))).status, 200)
  const { cost, tokens } = await statsOf(portico)
  assert.deepEqual([cost, tokens.input], [9_000_000_000, 1_000 * MOST_TOKENS])
  assert.equal((await portico.post('/api/session/ses_a/prompt', { text: 'Go on' })).status, 200)
  await (await portico.post('/api/experimental/session/ses_a/wait', {})).text()
  const { data: info } = (await (await portico.fetch('/api/session/ses_a')).json()) as { data: typeof most }
  assert.deepEqual({ cost: info.cost, tokens: info.tokens }, most)
  const exported = (await (await portico.fetch('/api/experimental/session/ses_a/export')).json()) as { data: object }
  assert.equal((await portico.fetch('/api/session/ses_a', { method: 'DELETE' })).status, 204)
  const again = await portico.post(IMPORT, exported.data)
  assert.equal(again.status, 200, await again.text())
})

test('statistics count all tools and models, and name the 1,000 that were used most', async () => {
  await using portico = await openPortico()
  const content = Array.from({ length: 1_500 }, (_, n) => call(`call_${n}`, `tool_${n}`))
  const often = [call('again', 'tool_1499'), call('once more', 'tool_1499')]
  const steps = Array.from({ length: 1_001 }, (_, n) => step(`${n}`, { model: { ...model, id: `model_${n}` } }))
  const body = transfer('ses_a', [...steps, step('tools', { content: [...content, ...often] })])
  assert.equal((await portico.post(IMPORT, body)).status, 200)
  const { tools, models, steps: count } = await statsOf(portico)
  assert.deepEqual([tools.totals.calls, tools.usage.length, tools.usage[0]?.name], [1_502, 1_000, 'tool_1499'])
  assert.deepEqual([count, models.length], [1_002, 1_000])
})

test('an import of a tool call that ended without content is refused', async () => {
  await using portico = await openPortico()
  const failed = { status: 'error', input: {}, error: { type: 'x', message: 'x' }, content: [] }
  for (const part of [call('c', 'read', []), { ...call('c', 'read'), state: failed }]) {
    const answer = await portico.post(IMPORT, transfer('ses_a', [step('1', { content: [part] })]))
    assert.equal(answer.status, 400, await answer.text())
  }
})
