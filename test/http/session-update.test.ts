import assert from 'node:assert/strict'
import test from 'node:test'
import { openStream, readUntil } from '#test/support/event-stream.ts'
import { openPortico, type Portico } from '#test/support/portico.ts'
import { waitUntil } from '#test/support/wait-until.ts'

const TITLES = { '.opencode/opencode.json': '{"agents":{"title":{"disabled":false}}}' }

interface Info {
  readonly title?: string
  readonly tokens: { readonly input: number; readonly output: number }
  readonly time: { readonly idle?: number; readonly viewed?: number }
}

async function info(portico: Portico, id = 'ses_1'): Promise<Info> {
  const answer = await portico.fetch(`/api/session/${id}`)
  return ((await answer.json()) as { data: Info }).data
}

function patch(portico: Portico, body: unknown, id = 'ses_1'): Promise<Response> {
  const headers = { 'content-type': 'application/json' }
  return portico.fetch(`/api/session/${id}`, { method: 'PATCH', headers, body: JSON.stringify(body) })
}

test('session.update replaces given members; null and absent members change nothing', async () => {
  await using portico = await openPortico()
  const permissions = [{ action: 'bash', resource: '*', effect: 'ask' }]
  await portico.post('/api/session', { id: 'ses_1', title: 'One', metadata: { a: 1, b: 2 }, permissions })
  const before = await info(portico)
  for (const body of [{}, { title: null, metadata: null, permissions: null }]) {
    const nothing = await patch(portico, body)
    assert.deepEqual([nothing.status, await nothing.text()], [204, ''])
    assert.deepEqual(await info(portico), before)
  }
  const other = [{ action: 'edit', resource: 'src/*', effect: 'deny' }]
  assert.equal((await patch(portico, { title: 'Two', metadata: { c: 3 }, permissions: other })).status, 204)
  const { title, metadata, permissions: rules } = (await info(portico)) as Info & Record<string, unknown>
  assert.deepEqual({ title, metadata, rules }, { title: 'Two', metadata: { c: 3 }, rules: other })
  const found = await portico.fetch('/api/session?search=two')
  assert.equal(((await found.json()) as { data: unknown[] }).data.length, 1)
})

test('an update that is not valid changes nothing', async () => {
  await using portico = await openPortico()
  await portico.post('/api/session', { id: 'ses_1', title: 'One' })
  const bodies = [{ title: 1 }, { title: 'x'.repeat(4_097) }, { metadata: [] }, { other: 1 }]
  for (const body of bodies) {
    const answer = await patch(portico, body)
    assert.deepEqual([answer.status, ((await answer.json()) as { _tag: string })._tag], [400, 'InvalidRequestError'])
  }
  assert.equal((await info(portico)).title, 'One')
  const unknown = await patch(portico, { title: 'x' }, 'ses_none')
  assert.deepEqual(
    [unknown.status, await unknown.json()],
    [404, { _tag: 'SessionNotFoundError', message: 'Session not found: ses_none', sessionID: 'ses_none' }],
  )
})

test('each member that an update replaces is an event', async () => {
  await using portico = await openPortico()
  await portico.post('/api/session', { id: 'ses_1', title: 'One' })
  const stream = await openStream(`${portico.url}/api/event`)
  await patch(portico, { title: 'Two', metadata: { c: 3 }, permissions: [] })
  const text = await readUntil(stream, (text) => text.includes('session.renamed') && text.endsWith('\n\n'))
  stream.destroy()
  const frames = text.split('\n').filter((line) => line.startsWith('data: '))
  const [, ...seen] = frames.map((line) => JSON.parse(line.slice('data: '.length)))
  assert.deepEqual(
    seen.map(({ type, data }) => [type, data]),
    [
      ['session.metadata.updated', { sessionID: 'ses_1', metadata: { c: 3 } }],
      ['session.permissions', { sessionID: 'ses_1', permissions: [] }],
      ['session.renamed', { sessionID: 'ses_1', title: 'Two' }],
    ],
  )
})

test('a session without a title gets one after its first input, once, and pays for it', async () => {
  await using portico = await openPortico({}, TITLES)
  await portico.post('/api/session', { id: 'ses_1' })
  const stream = await openStream(`${portico.url}/api/event`)
  await portico.post('/api/session/ses_1/prompt', { text: 'Explain the README, please\nand then stop' })
  const seen = await readUntil(stream, (text) => text.includes('session.renamed') && text.includes('session.idle'))
  stream.destroy()
  assert.match(seen, /"type":"session.usage.recorded".*"source":"title","cost":0,"tokens":\{"input":\d+,"output":4,/)
  const named = await waitUntil('a title', async () => {
    const now = await info(portico)
    return now.title === undefined ? undefined : now
  })
  assert.equal(named.title, 'Explain the README, please')
  await portico.post('/api/experimental/session/ses_1/wait', {})
  const { data } = (await (await portico.fetch('/api/session/ses_1/message?type=assistant')).json()) as {
    data: { readonly tokens: { readonly output: number } }[]
  }
  const steps = data.reduce((sum, { tokens }) => sum + tokens.output, 0)
  assert.equal((await info(portico)).tokens.output, steps + 4)
  // The event with the usage of the whole session comes right after the one of the title.
  const frames = seen.split('\n').filter((line) => line.startsWith('data: {') && line.endsWith('}'))
  const events = frames.map((line) => JSON.parse(line.slice('data: '.length)))
  const recorded = events.findIndex(({ type }) => type === 'session.usage.recorded')
  const { type, data: used } = events[recorded + 1]
  assert.equal(type, 'session.usage.updated')
  const before = events.slice(0, recorded).filter(({ type }) => type === 'session.step.ended')
  const output = before.reduce((sum, { data }) => sum + data.tokens.output, 0)
  assert.deepEqual(used, { sessionID: 'ses_1', cost: 0, tokens: { ...used.tokens, output: output + 4 } })
  await portico.post('/api/session/ses_1/prompt', { text: 'Something else' })
  await portico.post('/api/experimental/session/ses_1/wait', {})
  assert.equal((await info(portico)).title, 'Explain the README, please')
})

test('an empty title requests a generated one: at once, or after the first input', async () => {
  await using portico = await openPortico({}, TITLES)
  const titled = (id: string, before: string) =>
    waitUntil('a title', async () => {
      const { title } = await info(portico, id)
      return title === before ? undefined : title
    })
  await portico.post('/api/session', { id: 'ses_1', title: 'Mine' })
  await portico.post('/api/session/ses_1/prompt', { text: 'Count the files' })
  await portico.post('/api/experimental/session/ses_1/wait', {})
  assert.equal((await info(portico)).title, 'Mine')
  assert.equal((await patch(portico, { title: '' })).status, 204)
  assert.equal(await titled('ses_1', 'Mine'), 'Count the files')

  await portico.post('/api/session', { id: 'ses_2', title: 'Mine' })
  assert.equal((await patch(portico, { title: '' }, 'ses_2')).status, 204)
  assert.equal((await info(portico, 'ses_2')).title, 'Mine')
  await portico.post('/api/session/ses_2/prompt', { text: 'Count the folders' })
  assert.equal(await titled('ses_2', 'Mine'), 'Count the folders')

  await portico.post('/api/session', { id: 'ses_3', title: '' })
  assert.equal((await info(portico, 'ses_3')).title, undefined)
  await portico.post('/api/session/ses_3/prompt', { text: 'Count the links' })
  assert.equal(await titled('ses_3', ''), 'Count the links')

  const forked = await portico.post('/api/session/ses_1/fork', {})
  const { data: fork } = (await forked.json()) as { data: { readonly id: string; readonly title: string } }
  assert.equal((await patch(portico, { title: '' }, fork.id)).status, 204)
  assert.equal(await titled(fork.id, fork.title), 'Count the files')
})

test('inputs without text generate no title', async () => {
  await using portico = await openPortico({}, TITLES)
  const say = async (path: string, body: object) => {
    assert.equal((await portico.post(`/api/session/ses_1${path}`, body)).status, 200)
    await portico.post('/api/experimental/session/ses_1/wait', {})
  }
  await portico.post('/api/session', { id: 'ses_1' })
  await say('/synthetic', { text: 'Done' })
  assert.equal((await patch(portico, { title: '' })).status, 204)
  await say('/prompt', { text: ' ' })
  await say('/prompt', { text: 'Count the steps' })
  await waitUntil('a title', async () => (await info(portico)).title)
  assert.equal((await info(portico)).title, 'Count the steps')
})

test('session.view moves time.viewed forward, but never beyond the end of the last run', async () => {
  await using portico = await openPortico()
  await portico.post('/api/session', { id: 'ses_1', title: 'One' })
  const view = async (idle: unknown) => (await portico.post('/api/session/ses_1/view', { idle })).status
  assert.equal(await view(1), 204)
  assert.equal((await info(portico)).time.viewed, undefined)
  await portico.post('/api/session/ses_1/prompt', { text: 'Hi' })
  await portico.post('/api/experimental/session/ses_1/wait', {})
  const { time } = await info(portico)
  const idle = time.idle ?? assert.fail()
  assert.equal(await view(idle - 1), 204)
  assert.deepEqual((await info(portico)).time, { ...time, viewed: idle - 1 })
  assert.equal(await view(idle + 60_000), 204)
  assert.deepEqual((await info(portico)).time, { ...time, viewed: idle })
  assert.equal(await view(1), 204)
  assert.deepEqual((await info(portico)).time, { ...time, viewed: idle })
  assert.equal(await view('now'), 400)
})
