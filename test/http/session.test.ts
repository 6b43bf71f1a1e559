import assert from 'node:assert/strict'
import test from 'node:test'
import { openPortico, type Portico } from '#test/support/portico.ts'

interface Session {
  readonly id: string
  readonly time: { readonly created: number; readonly updated: number }
  readonly [member: string]: unknown
}

const none = { input: 0, output: 0, reasoning: 0, cache: { read: 0, write: 0 } }

async function created(portico: Portico, body: object): Promise<Session> {
  const answer = await portico.post('/api/session', body)
  assert.equal(answer.status, 200, await answer.clone().text())
  return ((await answer.json()) as { data: Session }).data
}

async function fetched(portico: Portico, id: string): Promise<Session> {
  const answer = await portico.fetch(`/api/session/${id}`)
  assert.equal(answer.status, 200)
  return ((await answer.json()) as { data: Session }).data
}

test('session.create makes a session of the default directory, with an id of its own', async () => {
  await using portico = await openPortico()
  const before = Date.now()
  const { id, time, ...rest } = await created(portico, {})
  assert.match(id, /^ses_[0-9a-f]{14}[0-9A-Za-z]{12}$/)
  assert.ok(time.created >= before && time.created <= Date.now())
  assert.deepEqual(time, { created: time.created, updated: time.created })
  const { project: directory } = portico
  assert.deepEqual(rest, { projectID: 'global', cost: 0, tokens: none, location: { directory }, subpath: '' })
})

test('session.create keeps its members, and session.get answers the same', async () => {
  await using portico = await openPortico()
  const body = {
    id: 'ses_of_a_client',
    title: 'Tïtle',
    agent: 'plan',
    model: { id: 'gpt-5', providerID: 'openai', variant: 'high' },
    location: { directory: portico.outside },
    metadata: { ticket: 42, nested: { list: [true, null, 1.5, 'x'] } },
    permissions: [{ action: 'edit', resource: '*.md', effect: 'allow' }],
  }
  const session = await created(portico, body)
  const { time, ...rest } = session
  assert.deepEqual(rest, { ...body, projectID: 'global', cost: 0, tokens: none, subpath: '' })
  assert.deepEqual(await fetched(portico, body.id), session)
})

test('session.create with an id that exists answers that session unchanged', async () => {
  await using portico = await openPortico()
  const first = await created(portico, { id: 'ses_1', title: 'First' })
  assert.deepEqual(await created(portico, { id: 'ses_1', title: 'Second', agent: 'plan' }), first)
})

test('session.create takes its directory from the header when the body names none', async () => {
  await using portico = await openPortico()
  const headers = {
    'content-type': 'application/json',
    'x-opencode-directory': encodeURIComponent(portico.outside),
  }
  const answer = await portico.fetch('/api/session', { method: 'POST', headers, body: '{}' })
  const { data } = (await answer.json()) as { data: { location: unknown } }
  assert.deepEqual(data.location, { directory: portico.outside })
})

test('session.create in a directory that does not exist is 404', async () => {
  await using portico = await openPortico()
  const directory = `${portico.project}/missing`
  const answer = await portico.post('/api/session', { location: { directory } })
  assert.equal(answer.status, 404)
  assert.deepEqual(await answer.json(), {
    _tag: 'LocationNotFoundError',
    message: `Directory not found: ${directory}`,
    location: { directory },
  })
})

test('an unknown session is 404 in every operation', async () => {
  await using portico = await openPortico()
  const json = { method: 'POST', headers: { 'content-type': 'application/json' } }
  const requests: [string, RequestInit][] = [
    ['', {}],
    ['/message', {}],
    ['/permission', {}],
    ['/interrupt', { method: 'POST' }],
    ['/wait', { method: 'POST' }],
    ['/prompt', { ...json, body: '{"text":"Hi"}' }],
    ['/agent', { ...json, body: '{"agent":"plan"}' }],
    ['/model', { ...json, body: '{"model":{"id":"a","providerID":"b"}}' }],
  ]
  for (const [path, init] of requests) {
    const answer = await portico.fetch(`/api/session/ses_unknown${path}`, init)
    const { message, ...body } = (await answer.json()) as { message: string }
    assert.equal(answer.status, 404, path)
    assert.deepEqual(body, { _tag: 'SessionNotFoundError', sessionID: 'ses_unknown' }, path)
    assert.match(message, /ses_unknown/)
  }
})

test('switchAgent and switchModel answer 204, select for the next steps and leave a message', async () => {
  await using portico = await openPortico()
  const { id } = await created(portico, {})
  const agent = await portico.post(`/api/session/${id}/agent`, { agent: 'nobody' })
  assert.deepEqual([agent.status, await agent.text()], [204, ''])
  const ref = { id: 'other', providerID: 'portico' }
  const model = await portico.post(`/api/session/${id}/model`, { model: ref })
  assert.deepEqual([model.status, await model.text()], [204, ''])
  const again = await portico.post(`/api/session/${id}/model`, { model: { ...ref, variant: 'default' } })
  assert.equal(again.status, 204)
  const session = await fetched(portico, id)
  assert.deepEqual([session.agent, session.model], ['nobody', ref])
  const answer = await portico.fetch(`/api/session/${id}/message?order=asc`)
  const { data } = (await answer.json()) as { data: { type: string }[] }
  assert.deepEqual(
    data.map(({ type }) => type),
    ['agent-switched', 'model-switched'],
  )
})

test('a body without a required member is 400', async () => {
  await using portico = await openPortico()
  const agent = await portico.post('/api/session/ses_1/agent', {})
  assert.equal(agent.status, 400)
  const message = 'agent: is required'
  assert.deepEqual(await agent.json(), { _tag: 'InvalidRequestError', message, kind: 'Payload' })
  const model = await portico.post('/api/session/ses_1/model', { model: 'openai/gpt-5' })
  assert.equal(model.status, 400)
})

test('metadata of more than 64 KiB is 400', async () => {
  await using portico = await openPortico()
  const answer = await portico.post('/api/session', { metadata: { text: 'x'.repeat(65_536) } })
  assert.equal(answer.status, 400)
  const body = (await answer.json()) as { _tag: string; field: string }
  assert.deepEqual([body._tag, body.field], ['InvalidRequestError', 'metadata'])
})

test('an id has at most 128 characters, however many units one is, for the gateway and the service alike', async () => {
  await using portico = await openPortico()
  const id = `ses${'😀'.repeat(125)}`
  assert.equal((await portico.post('/api/session', { id })).status, 200)
  assert.equal((await portico.fetch(`/api/session/${encodeURIComponent(id)}`)).status, 200)
  const prompt = await portico.post(`/api/session/${encodeURIComponent(id)}/prompt`, {
    ...{ id: `msg_${'😀'.repeat(124)}`, text: 'Hi', resume: false },
  })
  assert.equal(prompt.status, 200)
  const longer = await portico.post('/api/session', { id: `${id}x` })
  const message = 'id: must be a session id (ses…)'
  assert.deepEqual(await longer.json(), { _tag: 'InvalidRequestError', message, kind: 'Payload' })
  assert.deepEqual(portico.rejections, [])
})

test('an error of a service names the member of the request', async () => {
  await using portico = await openPortico()
  await portico.post('/api/session', { id: 'ses_1' })
  const long = 'x'.repeat(5_000)
  const files = [{ uri: 'data:,x' }, { uri: 'data:,x', name: long }]
  const tokens = { input: 0, output: 0, reasoning: 0, cache: { read: 0, write: 0 } }
  const info = { id: 'ses_2', title: long, cost: 0, tokens, time: { created: 1 } }
  for (const [answer, field, problem] of [
    [await portico.fetch(`/api/session?parentID=ses${long}`), 'parentID', 'must have at most 4096 characters'],
    [await portico.fetch(`/api/session?project=${long}`), 'project', 'must have at most 4096 characters'],
    [
      await portico.fetch(`/api/experimental/session/stats?project=${long}`),
      'project',
      'must have at most 4096 characters',
    ],
    [
      await portico.post('/api/session/ses_1/prompt', { text: '', files }),
      'files.1.name',
      'must have at most 1024 characters',
    ],
    [
      await portico.post('/api/session/ses_1/prompt', { prompt: { text: '', files } }),
      'prompt.files.1.name',
      'must have at most 1024 characters',
    ],
    [
      await portico.post('/api/experimental/session/import', { info, messages: [] }),
      'info.title',
      'must have at most 4096 characters',
    ],
  ] as const) {
    assert.deepEqual(await answer.json(), { _tag: 'InvalidRequestError', message: `${field}: ${problem}`, field })
    assert.equal(answer.status, 400)
  }
})
