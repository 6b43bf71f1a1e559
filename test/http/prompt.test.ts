import assert from 'node:assert/strict'
import { join } from 'node:path'
import test from 'node:test'
import { pathToFileURL } from 'node:url'
import { openPortico, type Portico } from '#test/support/portico.ts'
import { waitFor } from '#test/support/wait-until.ts'

interface Message {
  readonly id: string
  readonly type: string
  readonly content?: readonly { readonly type: string; readonly text?: string; readonly state?: { status: string } }[]
  readonly [member: string]: unknown
}

async function session(portico: Portico, body: object = {}): Promise<string> {
  const answer = await portico.post('/api/session', body)
  return ((await answer.json()) as { data: { id: string } }).data.id
}

async function prompted(portico: Portico, id: string, body: object): Promise<Record<string, unknown>> {
  const answer = await portico.post(`/api/session/${id}/prompt`, body)
  assert.equal(answer.status, 200, await answer.clone().text())
  return ((await answer.json()) as { data: Record<string, unknown> }).data
}

async function idle(portico: Portico, id: string): Promise<void> {
  const answer = await portico.fetch(`/api/experimental/session/${id}/wait`, { method: 'POST' })
  assert.deepEqual([answer.status, await answer.text()], [204, ''])
}

async function messages(portico: Portico, id: string, query = 'order=asc'): Promise<readonly Message[]> {
  const answer = await portico.fetch(`/api/session/${id}/message?${query}`)
  assert.equal(answer.status, 200)
  return ((await answer.json()) as { data: Message[] }).data
}

const textOf = (message: Message | undefined) =>
  message?.content?.map(({ text }) => text ?? '').join('') ?? assert.fail('no content')

test('a prompt is admitted, answered after wait, and its messages are read in order', async () => {
  await using portico = await openPortico()
  const id = await session(portico)
  const { time, ...item } = await prompted(portico, id, { id: 'msg_mine', text: 'Say hello', metadata: { a: 1 } })
  assert.deepEqual(item, {
    id: 'msg_mine',
    sessionID: id,
    type: 'user',
    payload: { text: 'Say hello', metadata: { a: 1 } },
    delivery: 'steer',
  })
  assert.equal(typeof (time as { created: unknown }).created, 'number')
  await idle(portico, id)
  const history = await messages(portico, id)
  assert.deepEqual([history[0]?.type, history.at(-2)?.type, history.at(-1)?.type], ['user', 'assistant', 'idle'])
  const { time: _, ...user } = history[0] as Message
  assert.deepEqual(user, { id: 'msg_mine', type: 'user', text: 'Say hello', metadata: { a: 1 } })
  assert.equal(history.at(-1)?.outcome, 'succeeded')
  const step = history.at(-2) as Message
  assert.deepEqual(step.model, { id: 'echo', providerID: 'portico' })
  assert.ok(textOf(step).length > 0)
  const one = await portico.fetch(`/api/session/${id}/message/${step.id}`)
  assert.deepEqual(await one.json(), { data: step })
})

test('the message list pages: newest first, 1 to 200, both ways', async () => {
  await using portico = await openPortico()
  const id = await session(portico)
  for (const agent of ['a', 'b', 'c', 'd', 'e']) {
    await (await portico.post(`/api/session/${id}/agent`, { agent })).text()
  }
  const agents = (list: readonly Message[]) => list.map(({ agent }) => agent)
  const page = async (query: string) => {
    const answer = await portico.fetch(`/api/session/${id}/message?${query}`)
    return (await answer.json()) as { data: Message[]; cursor: { previous?: string; next?: string } }
  }
  const first = await page('limit=2')
  assert.deepEqual(agents(first.data), ['e', 'd'])
  assert.equal(first.cursor.previous, undefined)
  const second = await page(`limit=2&cursor=${first.cursor.next}`)
  assert.deepEqual(agents(second.data), ['c', 'b'])
  const third = await page(`limit=2&cursor=${second.cursor.next}`)
  assert.deepEqual([agents(third.data), third.cursor.next], [['a'], undefined])
  assert.deepEqual((await page(`limit=2&cursor=${second.cursor.previous}`)).data, first.data)
  for (const query of ['limit=0', 'limit=201', 'order=up', 'cursor=x']) {
    assert.equal((await portico.fetch(`/api/session/${id}/message?${query}`)).status, 400, query)
  }
  assert.equal((await page('limit=200')).data.length, 5)
  const beyond = await portico.fetch(`/api/session/${id}/message?limit=00201`)
  const problem = { message: 'limit: must be at most 200', field: 'limit' }
  assert.deepEqual(await beyond.json(), { _tag: 'InvalidRequestError', ...problem })
})

test('an unknown message is 404', async () => {
  await using portico = await openPortico()
  const id = await session(portico)
  const answer = await portico.fetch(`/api/session/${id}/message/msg_none`)
  assert.equal(answer.status, 404)
  const { message: _, ...body } = (await answer.json()) as { message: string }
  assert.deepEqual(body, { _tag: 'MessageNotFoundError', sessionID: id, messageID: 'msg_none' })
})

test('the same prompt again answers the first admission; another one with its id is 409', async () => {
  await using portico = await openPortico()
  const id = await session(portico)
  const body = { id: 'msg_1', text: 'Hi', resume: false }
  const first = await prompted(portico, id, body)
  assert.deepEqual(await prompted(portico, id, body), first)
  const answer = await portico.post(`/api/session/${id}/prompt`, { ...body, text: 'Other' })
  assert.equal(answer.status, 409)
  const { message: _, ...conflict } = (await answer.json()) as { message: string }
  assert.deepEqual(conflict, { _tag: 'ConflictError', resource: 'msg_1' })
})

test('resume false admits without running', async () => {
  await using portico = await openPortico()
  const id = await session(portico)
  await prompted(portico, id, { text: 'Hi', delivery: 'queue', resume: false })
  await idle(portico, id)
  assert.deepEqual(await messages(portico, id), [])
})

test('files are read, agents are kept, and a mention stays where it is', async () => {
  await using portico = await openPortico({}, { 'notes.txt': 'one\ntwo\nthree\n' })
  const id = await session(portico)
  const uri = pathToFileURL(join(portico.project, 'notes.txt')).href
  const mention = { start: 0, end: 6, text: '@notes' }
  const { payload } = await prompted(portico, id, {
    text: '@notes',
    files: [
      { uri: `${uri}?start=2&end=2`, mention },
      { uri: 'data:text/plain;base64,aGk=', name: 'hi.txt', description: null },
    ],
    agents: [{ name: 'plan' }],
    resume: false,
  })
  assert.deepEqual((payload as { agents: unknown }).agents, [{ name: 'plan' }])
  const [file, inline] = (payload as { files: Record<string, unknown>[] }).files
  assert.equal(Buffer.from(file?.data as string, 'base64').toString(), 'two\n')
  assert.deepEqual([file?.mime, file?.name, file?.mention], ['text/plain', 'notes.txt', mention])
  assert.deepEqual(inline, { data: 'aGk=', mime: 'text/plain', source: { type: 'inline' }, name: 'hi.txt' })
})

test('skills are kept with their text, shown to the model, exported, redacted and imported', async () => {
  const skill = '---\nname: Release it\n---\n/tool list {}'
  await using portico = await openPortico({}, { '.claude/skills/release/SKILL.md': skill })
  const id = await session(portico)
  const mention = { start: 0, end: 8, text: '/release' }
  const body = { id: 'msg_s', text: '/release', skills: [{ id: 'release', mention }, { id: 'release' }] }
  const kept = [
    { id: 'release', name: 'Release it', text: '/tool list {}', mention },
    { id: 'release', name: 'Release it' },
  ]
  assert.deepEqual((await prompted(portico, id, body)).payload, { text: '/release', skills: kept })
  await idle(portico, id)
  const [user, answer] = (await messages(portico, id)) as readonly {
    skills?: unknown
    content?: readonly { name?: string }[]
  }[]
  assert.deepEqual(user?.skills, kept)
  assert.deepEqual(
    answer?.content?.map(({ name }) => name),
    ['list'],
    'the model does what the skill says',
  )
  const read = async (path: string) => (await (await portico.fetch(path)).json()) as { data: { messages: unknown[] } }
  const whole = await read(`/api/experimental/session/${id}/export`)
  const redacted = JSON.stringify((await read(`/api/experimental/session/${id}/export?sanitize=true`)).data.messages[0])
  assert.equal(/Release it|tool list|\/release/.test(redacted), false)
  assert.match(redacted, /"id":"release"/)
  await portico.fetch(`/api/session/${id}`, { method: 'DELETE' })
  const imported = await portico.post('/api/experimental/session/import', whole.data)
  assert.equal(imported.status, 200)
  assert.deepEqual(((await messages(portico, id)) as readonly { skills?: unknown }[])[0]?.skills, kept)
})

test('an unreadable attachment, and an unknown skill, are 400 of their field', async () => {
  await using portico = await openPortico()
  const id = await session(portico)
  const refused = async (body: object, field: string | undefined) => {
    const answer = await portico.post(`/api/session/${id}/prompt`, { text: 'Hi', ...body })
    assert.equal(answer.status, 400)
    const error = (await answer.json()) as { _tag: string; field: string }
    assert.deepEqual([error._tag, error.field], ['InvalidRequestError', field])
  }
  await refused({ files: [{ uri: 'https://example.com/a' }] }, 'files')
  await refused({ files: [{ uri: 'file:///does/not/exist' }] }, 'files')
  await refused({ files: [{ uri: 'data:text/plain;base64,a' }] }, 'files')
  await refused({ skills: [{ id: 'deploy' }] }, 'skills')
  await refused({ skills: [{ id: '' }] }, undefined)
  await refused({ skills: Array(33).fill({ id: 'deploy' }) }, 'skills')
  await refused({ agents: [{ name: 'plan' }, { name: 'nobody' }] }, 'agents.1.name')
})

test('a prompt without text is 400, as is one with an unknown member or a wrong delivery', async () => {
  await using portico = await openPortico()
  const bodies = [{}, { text: null }, { text: 1 }, { text: 'Hi', bogus: 1 }, { text: 'Hi', delivery: 'later' }]
  for (const body of [...bodies, { text: 'Hi', id: 'ses_1' }, { text: 'Hi', agents: [{}] }]) {
    const answer = await portico.post('/api/session/ses_1/prompt', body)
    assert.equal(answer.status, 400, JSON.stringify(body))
    const { _tag, kind } = (await answer.json()) as { _tag: string; kind: string }
    assert.deepEqual([_tag, kind], ['InvalidRequestError', 'Payload'])
  }
})

test('a running session is listed as active, interrupted once, and then idle', async () => {
  await using portico = await openPortico()
  const id = await session(portico)
  const interrupt = async () => {
    const answer = await portico.fetch(`/api/session/${id}/interrupt`, { method: 'POST' })
    assert.equal(answer.status, 200)
    return answer.json()
  }
  const active = async () => (await portico.fetch('/api/session/active')).json()
  assert.deepEqual(await active(), { data: {} })
  assert.deepEqual(await interrupt(), { interrupted: false })
  await prompted(portico, id, { text: '/slow 1000\none two three four five six' })
  await waitFor('an active session', async () => JSON.stringify(await active()).includes(id), active)
  assert.deepEqual(await active(), { data: { [id]: { type: 'running' } } })
  assert.deepEqual(await interrupt(), { interrupted: true })
  await idle(portico, id)
  assert.deepEqual(await active(), { data: {} })
  assert.equal((await messages(portico, id)).at(-1)?.outcome, 'interrupted')
  const unknown = await portico.fetch(`/api/session/${id}/interrupt?resume=maybe`, { method: 'POST' })
  assert.equal(unknown.status, 400)
})

test('wait is refused with 503 when the server stops', async () => {
  await using portico = await openPortico()
  const id = await session(portico)
  await prompted(portico, id, { text: '/slow 1000\none two three four five six' })
  const waiting = portico.fetch(`/api/session/${id}/wait`, { method: 'POST' })
  await waitFor('the request that waits', () => portico.listener.lifecycle.openStreams > 0)
  await portico.listener.drain(3_600_000)
  const answer = await waiting
  assert.equal(answer.status, 503)
  const message = 'The server is starting or stopping'
  assert.deepEqual(await answer.json(), { _tag: 'ServiceUnavailableError', message, service: 'gateway' })
})
