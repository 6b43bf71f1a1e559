import assert from 'node:assert/strict'
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import test from 'node:test'
import { git } from '#test/support/catalog.ts'
import { call } from '#test/support/client.ts'
import { openPortico, type Portico } from '#test/support/portico.ts'
import { eventsDuring } from '#test/support/session-events.ts'
import { waitFor } from '#test/support/wait-until.ts'

interface Message {
  readonly id: string
  readonly type: string
  readonly time?: unknown
  readonly content?: readonly { readonly type: string; readonly name?: string; readonly state?: unknown }[]
}

const moved = { status: 204, json: undefined }
const invalid = (message: string) => ({
  status: 400,
  json: { _tag: 'InvalidRequestError', message, field: 'directory' },
})

const open = (portico: Portico, id = 'ses_a', body: object = {}) =>
  call(portico, 'POST', '/api/session', { id, ...body })
const move = (portico: Portico, body: object, id = 'ses_a') => call(portico, 'POST', `/api/session/${id}/move`, body)

async function settled(portico: Portico, id = 'ses_a'): Promise<void> {
  assert.equal((await portico.fetch(`/api/experimental/session/${id}/wait`, { method: 'POST' })).status, 204)
}

async function messages(portico: Portico, id = 'ses_a'): Promise<Message[]> {
  return (await call(portico, 'GET', `/api/session/${id}/message?order=asc`)).json.data
}

async function placeOf(portico: Portico, id = 'ses_a') {
  const { location, projectID, subpath, outcome } = (await call(portico, 'GET', `/api/session/${id}`)).json.data
  return { location, projectID, subpath, outcome }
}

test('a session moves to another project, with its message and its events, and begins no run', async () => {
  await using portico = await openPortico({}, { 'repo/src/a.txt': 'a' })
  const repo = join(portico.project, 'repo')
  git(repo, 'init', '-q')
  git(repo, 'add', '.')
  git(repo, 'commit', '-qm', 'first')
  const projectID = git(repo, 'rev-list', '--max-parents=0', 'HEAD')
  await open(portico)
  const there = { location: { directory: join(repo, 'src') }, projectID, subpath: 'src' }
  const here = { location: { directory: portico.project }, projectID: 'global', subpath: '' }
  const events = await eventsDuring(portico, 'ses_a', 'session.moved', async () => {
    assert.deepEqual(await move(portico, { directory: ' repo/src ' }), moved)
  })
  const inboxID = events[0]?.data.inboxID
  assert.deepEqual(
    events.map(({ type, data, directory }) => [type, data, directory]),
    [
      [
        'session.inbox.enqueued',
        { inboxID, item: { type: 'move', payload: there, delivery: 'steer' } },
        portico.project,
      ],
      ['session.inbox.delivered', { inboxID }, portico.project],
      ['session.moved', there, there.location.directory],
    ],
  )
  await settled(portico)
  assert.deepEqual(await placeOf(portico), { ...there, outcome: undefined })
  const [{ time: _, ...message } = { time: 0 }, ...more] = await messages(portico)
  assert.deepEqual(message, { id: inboxID, type: 'location-switched', ...there, previous: here })
  assert.deepEqual(more, [])
  const found = await call(portico, 'GET', `/api/session?directory=${encodeURIComponent(there.location.directory)}`)
  assert.deepEqual(
    found.json.data.map(({ id }: { id: string }) => id),
    ['ses_a'],
  )
  assert.deepEqual(await move(portico, { directory: '~', delivery: 'queue' }), moved)
  await settled(portico)
  assert.equal((await placeOf(portico)).location.directory, join(portico.project, '..', 'home'))
})

test('a run goes on in the new location from its next step on', async () => {
  await using portico = await openPortico()
  await writeFile(join(portico.project, 'name.txt'), 'here')
  await writeFile(join(portico.outside, 'name.txt'), 'there')
  await open(portico)
  const text = '/tool bash {"command":"cat name.txt; until test -e go; do sleep 0.05; done"}'
  await call(portico, 'POST', '/api/session/ses_a/prompt', { id: 'msg_1', text })
  await waitFor('the call', async () => (await messages(portico)).some(({ content }) => content?.some(isRunning)))
  await call(portico, 'POST', '/api/session/ses_a/prompt', { id: 'msg_3', text: 'And then', delivery: 'queue' })
  assert.deepEqual(await move(portico, { directory: portico.outside }), moved)
  await call(portico, 'POST', '/api/session/ses_a/prompt', { id: 'msg_2', text: '/tool read {"path":"name.txt"}' })
  assert.equal((await placeOf(portico)).location.directory, portico.project)
  await writeFile(join(portico.project, 'go'), '')
  await settled(portico)
  const course = (await messages(portico)).flatMap(({ id, type, content = [] }) => {
    const said = content
      .filter(({ type }) => type === 'tool')
      .map((part) => JSON.stringify(part.state).match(/t?here/)?.[0])
    return type === 'user' ? [id] : type === 'assistant' ? said : [type]
  })
  const expected = ['msg_1', 'here', 'location-switched', 'msg_2', 'there', 'idle', 'msg_3']
  assert.deepEqual(course.slice(0, expected.length), expected)
})

const isRunning = (part: { readonly state?: unknown }) => JSON.stringify(part.state ?? '').includes('"running"')

test('a directory that is not there, is not one, or may not be used is refused', async () => {
  await using portico = await openPortico({}, { 'file.txt': 'a' })
  await open(portico)
  for (const [directory, message] of [
    ['  ', 'directory: must not be blank'],
    ['/does/not/exist', 'Directory does not exist: /does/not/exist'],
    [' none ', 'Directory does not exist: none'],
    ['file.txt', 'Not a directory: file.txt'],
    ['file.txt/below', 'Not a directory: file.txt/below'],
  ] as const) {
    assert.deepEqual(await move(portico, { directory }), invalid(message))
  }
  for (const body of [{}, { directory: '' }, { directory: null }, { directory: '.', more: 1 }, { directory: 'a\0' }]) {
    const { status, json: error } = await move(portico, body)
    assert.deepEqual([status, error._tag, error.kind], [400, 'InvalidRequestError', 'Payload'], JSON.stringify(body))
  }
  assert.deepEqual(await move(portico, { directory: '.' }, 'ses_none'), {
    status: 404,
    json: { _tag: 'SessionNotFoundError', message: 'Session not found: ses_none', sessionID: 'ses_none' },
  })
  assert.deepEqual((await call(portico, 'GET', '/api/session/ses_a/inbox')).json, { data: [] })
})

test('an idle session whose directory is gone moves at once; its older moves are cancelled, and its other inputs run there', async () => {
  await using portico = await openPortico()
  const gone = join(portico.project, 'gone')
  await mkdir(gone)
  await open(portico, 'ses_a', { location: { directory: gone } })
  await call(portico, 'POST', '/api/session/ses_a/prompt', { id: 'msg_1', text: '/slow 60000\none two' })
  await waitFor('the run', async () => (await messages(portico)).some(({ type }) => type === 'assistant'))
  await move(portico, { directory: '..' })
  await call(portico, 'POST', '/api/session/ses_a/prompt', { id: 'msg_2', text: 'Hi', delivery: 'queue' })
  await portico.fetch('/api/session/ses_a/interrupt', { method: 'POST' })
  await settled(portico)
  const { data } = (await call(portico, 'GET', '/api/session/ses_a/inbox')).json
  assert.deepEqual(
    data.map(({ type }: { type: string }) => type),
    ['move', 'user'],
  )
  await rm(gone, { recursive: true })
  // What the catalog knows about a directory is at most a second old.
  await waitFor('the directory to be gone', async () => {
    const query = `location[directory]=${encodeURIComponent(gone)}`
    return (await call(portico, 'GET', `/api/location?${query}`)).status === 404
  })
  const events = await eventsDuring(portico, 'ses_a', 'session.execution.succeeded', async () => {
    assert.deepEqual(await move(portico, { directory: portico.outside }), moved)
    assert.equal((await placeOf(portico)).location.directory, portico.outside)
  })
  assert.deepEqual(events.map(({ type, data }) => [type, data]).slice(0, 5), [
    ['session.inbox.cancelled', { inboxID: data[0].id }],
    ['session.moved', { location: { directory: portico.outside }, projectID: 'global', subpath: '' }],
    ['session.execution.started', {}],
    ['session.status', { status: { type: 'busy' } }],
    ['session.inbox.delivered', { inboxID: 'msg_2' }],
  ])
})
