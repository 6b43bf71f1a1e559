import assert from 'node:assert/strict'
import test from 'node:test'
import { openPortico, type Portico } from '#test/support/portico.ts'
import type { Json } from '#test/support/responses.ts'
import { eventsDuring } from '#test/support/session-events.ts'

const small = { providerID: 'portico', id: 'echo-small' }
const words = (count: number, word = 'word') => Array(count).fill(word).join(' ')

async function json(portico: Portico, path: string, body?: unknown): Promise<Json> {
  const answer = body === undefined ? await portico.fetch(path) : await portico.post(path, body)
  assert.equal(answer.status, 200, `${path} ${answer.status === 200 ? '' : await answer.clone().text()}`)
  return ((await answer.json()) as Json).data
}

const settled = (portico: Portico, id: string) => portico.fetch(`/api/session/${id}/wait`, { method: 'POST' })

async function say(portico: Portico, id: string, text: string): Promise<void> {
  await json(portico, `/api/session/${id}/prompt`, { text })
  await settled(portico, id)
}

async function messages(portico: Portico, id: string): Promise<Json[]> {
  return json(portico, `/api/session/${id}/message?order=asc&limit=200`) as unknown as Promise<Json[]>
}

const kinds = (all: readonly Json[]) => all.map(({ type, status, outcome }) => status ?? outcome ?? type)

test('a session on portico/echo-small is compacted at the threshold, and when a prompt does not fit', async () => {
  await using portico = await openPortico()
  await json(portico, '/api/session', { id: 'ses_a', title: 'Small', model: small })
  await say(portico, 'ses_a', `/length 5\nFirst ${words(700)}`)
  await say(portico, 'ses_a', `/length 5\nSecond ${words(700)}`)
  await say(portico, 'ses_a', `/length 5\nThird ${words(300)}`)
  assert.ok(kinds(await messages(portico, 'ses_a')).includes('completed'), 'at the threshold')
  const before = (await messages(portico, 'ses_a')).length
  const events = await eventsDuring(portico, 'ses_a', 'session.idle', () =>
    json(portico, '/api/session/ses_a/prompt', { text: `/length 5\nFourth ${words(1_200)}` }),
  )
  const added = (await messages(portico, 'ses_a')).slice(before)
  assert.deepEqual(kinds(added), ['user', 'completed', 'assistant', 'succeeded'])
  const compacted = added[1] as Json
  assert.deepEqual([compacted.reason, compacted.model], ['auto', small])
  assert.match(compacted.summary, /^portico\/echo cannot summarize/)
  assert.match(compacted.recent, /user: \/length 5\nThird word/)
  const about = events.filter(({ type }) => /compaction|usage.recorded/.test(type))
  assert.deepEqual(
    [...new Set(about.map(({ type }) => type))],
    ['started', 'delta']
      .map((type) => `session.compaction.${type}`)
      .concat('session.usage.recorded', 'session.compaction.ended'),
  )
  const { id: messageID, summary: text, recent } = compacted
  assert.deepEqual(about.at(0)?.data, { messageID, reason: 'auto', recent })
  assert.deepEqual(about.at(-1)?.data, { messageID, reason: 'auto', text, recent })
  assert.equal(about.at(-2)?.data.source, 'compaction')
  assert.deepEqual(await json(portico, '/api/session/ses_a/context'), added.slice(1))
})

test('a session on a small context survives any prompt: one that is too long fails alone, dense text is summarized, and open inputs stay', async () => {
  await using portico = await openPortico()
  await json(portico, '/api/session', { id: 'ses_d', title: 'Dense', model: small })
  const outcomes = async (from: number) => kinds((await messages(portico, 'ses_d')).slice(from))
  await say(portico, 'ses_d', 'x '.repeat(20_000))
  assert.deepEqual(await outcomes(0), ['user', 'assistant', 'failed', 'failed'])
  const { error } = (await messages(portico, 'ses_d')).at(-1) as Json
  assert.match(error.message, /^The last input is too long for the model/)
  assert.equal(error.type, 'compaction.failed')
  await say(portico, 'ses_d', '/length 5\nSmall')
  assert.deepEqual(await outcomes(4), ['user', 'completed', 'assistant', 'succeeded'])
  // As dense as text gets here: a token for every two bytes.
  await say(portico, 'ses_d', `/length 5\n${words(1_400, 'y')}`)
  await say(portico, 'ses_d', `/length 5\n${words(1_100, 'z')}`)
  const added = (await messages(portico, 'ses_d')).slice(8)
  assert.deepEqual(
    added.filter(({ type }) => type === 'idle').map(({ outcome }) => outcome),
    ['succeeded', 'succeeded'],
  )
  assert.ok(added.some(({ type }) => type === 'compaction'))
  await json(portico, '/api/session/ses_d/compact', {})
  await settled(portico, 'ses_d')
  await say(portico, 'ses_d', '/length 5\nOnce more')
  assert.deepEqual((await outcomes(0)).slice(-5), ['completed', 'succeeded', 'user', 'assistant', 'succeeded'])
})

test('session.compact adds an item to the inbox, runs it, and refuses invalid requests', async () => {
  await using portico = await openPortico()
  await json(portico, '/api/session', { id: 'ses_b', title: 'Small' })
  await say(portico, 'ses_b', '/length 3')
  await json(portico, '/api/session/ses_b/prompt', { text: '/slow 100\n/length 20' })
  const item = await json(portico, '/api/session/ses_b/compact', { id: 'msg_c', delivery: 'queue' })
  const { time, ...rest } = item
  assert.deepEqual(rest, { id: 'msg_c', sessionID: 'ses_b', type: 'compaction', payload: {}, delivery: 'queue' })
  assert.deepEqual(await json(portico, '/api/session/ses_b/compact', { id: null, delivery: null }), item)
  assert.deepEqual(await json(portico, '/api/session/ses_b/inbox'), [item])
  const bare = await portico.fetch('/api/session/ses_b/compact', { method: 'POST' })
  assert.deepEqual([bare.status, await bare.json()], [200, { data: item }], 'clients of 1.x send no body')
  const unknown = await portico.post('/api/session/ses_b/compact', { reason: 'x' })
  assert.equal(unknown.status, 400)
  await settled(portico, 'ses_b')
  const all = await messages(portico, 'ses_b')
  const run = ['user', 'assistant', 'succeeded']
  assert.deepEqual(kinds(all), [...run, ...run, 'completed', 'succeeded'])
  assert.deepEqual([all[6]?.id, all[6]?.reason], ['msg_c', 'manual'])
  assert.deepEqual(await json(portico, '/api/session/ses_b/compact', { id: 'msg_c', delivery: 'queue' }), item)
  const { tokens } = (await json(portico, '/api/session/ses_b')) as Json
  const used = all.reduce((sum, each) => sum + (each.tokens?.input ?? 0), 0)
  assert.equal(tokens.input, used)
  const stats = (await (await portico.fetch('/api/experimental/session/stats')).json()) as Json
  assert.equal((stats.data ?? stats).tokens.input, used)
})

test('a conversation that an unknown model is to summarize is one short line of the log, without a stack', async () => {
  await using portico = await openPortico()
  await json(portico, '/api/session', { id: 'ses_a', title: 'Unknown' })
  await say(portico, 'ses_a', 'Hello')
  await portico.post('/api/session/ses_a/model', { model: { providerID: 'portico', id: 'nope' } })
  await json(portico, '/api/session/ses_a/compact', {})
  await settled(portico, 'ses_a')
  const { type, error } = (await messages(portico, 'ses_a')).findLast(({ status }) => status === 'failed') ?? {}
  assert.deepEqual([type, error?.message], ['compaction', 'No such model is configured: portico/nope'])
  const lines = portico.log.filter(({ msg }) => msg === 'A conversation could not be summarized')
  assert.deepEqual(
    lines.map(({ level, reason, sessionId, err }) => [level, reason, sessionId, err]),
    [[40, 'MODEL_NOT_FOUND', 'ses_a', undefined]],
  )
})

test('session.compact where there is nothing to summarize does no harm; each of many at once is answered with an item that is seen to end', async () => {
  await using portico = await openPortico()
  for (const id of ['ses_e', 'ses_f']) await json(portico, '/api/session', { id, title: 'Small' })
  await json(portico, '/api/session/ses_e/compact', { id: 'msg_e' })
  await settled(portico, 'ses_e')
  const [empty, idle, ...more] = await messages(portico, 'ses_e')
  assert.deepEqual([empty?.id, empty?.status, idle?.outcome, more], ['msg_e', 'failed', 'succeeded', []])
  assert.deepEqual(empty?.error, { type: 'compaction.empty', message: 'There is nothing to summarize' })
  await say(portico, 'ses_f', '/length 3')
  const asked = Array.from({ length: 5 }, () => json(portico, '/api/session/ses_f/compact', {}))
  const items = new Set((await Promise.all(asked)).map(({ id }) => id))
  await settled(portico, 'ses_f')
  const all = await messages(portico, 'ses_f')
  const made = all.filter(({ type }) => type === 'compaction')
  assert.deepEqual(new Set(made.map(({ id }) => id)), items)
  assert.deepEqual(
    made.map(({ status, error }) => error?.type ?? status),
    ['completed', ...Array(items.size - 1).fill('compaction.empty')],
  )
  assert.deepEqual([...new Set(all.flatMap(({ outcome }) => outcome ?? []))], ['succeeded'])
})

test('a summary passes export, import and export again; a fork has it, and sanitizing hides it', async () => {
  await using portico = await openPortico()
  await json(portico, '/api/session', { id: 'ses_c', title: 'Small' })
  await say(portico, 'ses_c', '/length 3\nSECRET question')
  await json(portico, '/api/session/ses_c/compact', { id: 'msg_c' })
  await settled(portico, 'ses_c')
  await json(portico, '/api/session/ses_c/compact', { id: 'msg_d' })
  await settled(portico, 'ses_c')
  const exported = async (query = ''): Promise<Json> => json(portico, `/api/experimental/session/ses_c/export${query}`)
  const first = await exported()
  assert.deepEqual(kinds(first.messages).slice(3), ['completed', 'succeeded', 'failed', 'succeeded'])
  assert.doesNotMatch(JSON.stringify(await exported('?sanitize=true')), /SECRET/)
  const fork = await json(portico, '/api/session/ses_c/fork', {})
  assert.deepEqual(kinds(await messages(portico, fork.id)), kinds(first.messages))
  assert.equal((await portico.fetch('/api/session/ses_c', { method: 'DELETE' })).status, 204)
  await json(portico, '/api/experimental/session/import', { info: first.info, messages: first.messages })
  assert.deepEqual((await exported()).messages, first.messages)
})
