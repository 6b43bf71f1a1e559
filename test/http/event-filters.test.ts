import assert from 'node:assert/strict'
import { mkdir, mkdtemp, rm, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import test from 'node:test'
import { openStream, readUntil } from '#test/support/event-stream.ts'
import { openPortico } from '#test/support/portico.ts'

/** The session of each event except the server's own. */
const sessionsOf = (text: string): string[] =>
  text
    .split('\n')
    .flatMap((line) => (line.startsWith('data: ') ? [JSON.parse(line.slice(6)).data.sessionID ?? []] : []))
    .flat()

test('a stream of one session has its events and no other', async () => {
  await using portico = await openPortico()
  const stream = await openStream(`${portico.url}/api/event?sessionID=ses_1`)
  for (const id of ['ses_0', 'ses_1', 'ses_2']) assert.equal((await portico.post('/api/session', { id })).status, 200)
  for (const id of ['ses_2', 'ses_1']) await portico.post(`/api/session/${id}/prompt`, { text: 'Say hello' })
  const text = await readUntil(stream, (text) => text.includes('session.execution.succeeded'))
  assert.deepEqual([...new Set(sessionsOf(text))], ['ses_1'])
  for (const type of ['server.connected', 'session.created', 'session.text.delta'])
    assert.ok(text.includes(`"${type}"`), type)
  stream.destroy()
})

test('a stream of a session has the permission requests of its child sessions', async () => {
  await using portico = await openPortico()
  const permissions = [{ action: 'bash', resource: '*', effect: 'ask' }]
  assert.equal((await portico.post('/api/session', { id: 'ses_1', permissions })).status, 200)
  const stream = await openStream(`${portico.url}/api/event?sessionID=ses_1`)
  const input = { description: 'Try', prompt: '/tool bash {"command":"true"}', subagent_type: 'general' }
  await portico.post('/api/session/ses_1/prompt', { text: `/tool task ${JSON.stringify(input)}` })
  const text = await readUntil(stream, (text) => text.includes('"permission.asked"'))
  const asked = text.split('\n').findLast((line) => line.includes('"permission.asked"')) ?? ''
  const { data } = JSON.parse(asked.slice('data: '.length)) as { data: { id: string; sessionID: string } }
  assert.notEqual(data.sessionID, 'ses_1')
  const path = `/api/session/${data.sessionID}/permission/${data.id}/reply`
  assert.equal((await portico.post(path, { reply: 'once' })).status, 204)
  const ended = /"session.execution.succeeded".*"sessionID":"ses_1"/
  assert.match(await readUntil(stream, (text) => ended.test(text)), new RegExp(`"permission.replied".*${data.id}`))
  stream.destroy()
})

test('a stream of a session has the removals of its child sessions, live and after a resume', async () => {
  await using portico = await openPortico()
  const tokens = { input: 0, output: 0, reasoning: 0, cache: { read: 0, write: 0 } }
  const parents = { ses_1: undefined, ses_a: 'ses_1', ses_aa: 'ses_a', ses_b: 'ses_1', ses_2: undefined }
  for (const [id, parentID] of Object.entries(parents)) {
    const info = { id, parentID, cost: 0, tokens, time: { created: 1 } }
    assert.equal((await portico.post('/api/experimental/session/import', { info, messages: [] })).status, 200)
  }
  const stream = await openStream(`${portico.url}/api/event?sessionID=ses_1`)
  const remove = async (id: string) => {
    assert.equal((await portico.fetch(`/api/session/${id}`, { method: 'DELETE' })).status, 204)
  }
  // One below it alone, and then all with it: these are gone as well when that is answered.
  await remove('ses_b')
  await remove('ses_2')
  await remove('ses_1')
  for (const id of ['ses_1', 'ses_a', 'ses_aa']) assert.equal((await portico.fetch(`/api/session/${id}`)).status, 404)
  const text = await readUntil(stream, (text) => sessionsOf(text).length >= 4)
  stream.destroy()
  assert.deepEqual(sessionsOf(text), ['ses_b', 'ses_1', 'ses_aa', 'ses_a'])
  assert.equal(text.split('"session.deleted"').length, 5)
  assert.match(text, /"type":"session.deleted".*"data":\{"sessionID":"ses_aa"\}/)
  const position = /id: (\S+)/.exec(text)?.[1] ?? ''
  const again = await openStream(`${portico.url}/api/event?sessionID=ses_a`, { 'last-event-id': position })
  assert.deepEqual(sessionsOf(await readUntil(again, (text) => sessionsOf(text).length >= 2)), ['ses_aa', 'ses_a'])
  again.destroy()
})

test('a stream of one directory has the events of its sessions, whatever path names it; positions are the same for every filter', async (context) => {
  await using portico = await openPortico()
  const folder = await mkdtemp(join(tmpdir(), 'portico-filters-'))
  context.after(() => rm(folder, { recursive: true }))
  const [there, link] = [join(folder, 'there'), join(folder, 'link')]
  await mkdir(there)
  await symlink(there, link)
  const query = `location[directory]=${encodeURIComponent(link)}`
  const stream = await openStream(`${portico.url}/api/event?${query}`)
  const first = await portico.post('/api/session', { id: 'ses_1', location: { directory: there } })
  assert.equal(first.status, 200)
  await portico.post('/api/session', { id: 'ses_2' })
  await portico.post('/api/session', { id: 'ses_3', location: { directory: link } })
  const text = await readUntil(stream, (text) => text.includes('ses_3'))
  assert.deepEqual(sessionsOf(text), ['ses_1', 'ses_3'])
  stream.destroy()
  const position = /id: (\S+)\ndata: .*ses_1/.exec(text)?.[1] ?? ''
  const again = await openStream(`${portico.url}/api/event?sessionID=ses_3&${query}`, { 'last-event-id': position })
  assert.deepEqual(sessionsOf(await readUntil(again, (text) => text.includes('ses_3'))), ['ses_3'])
  again.destroy()
})

test('a stream of a directory does not replay the events of a session that moved away and was removed', async (context) => {
  await using portico = await openPortico()
  const folder = await mkdtemp(join(tmpdir(), 'portico-filters-'))
  context.after(() => rm(folder, { recursive: true }))
  const query = `location[directory]=${encodeURIComponent(folder)}`
  // As long as it is open, what it was sent is kept for others.
  const stream = await openStream(`${portico.url}/api/event?${query}`)
  for (const id of ['ses_0', 'ses_1']) {
    assert.equal((await portico.post('/api/session', { id, location: { directory: folder } })).status, 200)
  }
  const before = await readUntil(stream, (text) => text.includes('ses_1'))
  const position = /id: (\S+)\ndata: .*ses_0/.exec(before)?.[1] ?? ''
  assert.equal((await portico.post('/api/session/ses_1/move', { directory: portico.project })).status, 204)
  await portico.post('/api/session/ses_1/wait', {})
  assert.equal((await portico.fetch('/api/session/ses_1', { method: 'DELETE' })).status, 204)
  await portico.post('/api/session', { id: 'ses_2', location: { directory: folder } })
  const live = await readUntil(stream, (text) => text.includes('ses_2'))
  assert.ok(!live.includes('"session.deleted"'), live)
  const again = await openStream(`${portico.url}/api/event?${query}`, { 'last-event-id': position })
  assert.deepEqual(sessionsOf(await readUntil(again, (text) => text.includes('ses_2'))), ['ses_2'])
  for (const each of [stream, again]) each.destroy()
})

test('refuses an invalid session, directory or filter', async () => {
  await using portico = await openPortico()
  const cases: [string, number, object][] = [
    [
      'sessionID=abc',
      400,
      { _tag: 'InvalidRequestError', message: 'sessionID: must be a session id (ses…)', kind: 'Query' },
    ],
    [
      'sessionID=ses_1,ses_2',
      400,
      { message: 'sessionID: must be one session id: a stream covers one session, or all', kind: 'Query' },
    ],
    ['location[directory]=relative', 400, { _tag: 'InvalidRequestError', field: 'directory' }],
    ['location[directory]=%00', 400, { _tag: 'InvalidRequestError', kind: 'Query' }],
    ['location=x', 400, { _tag: 'InvalidRequestError', kind: 'Query' }],
    [
      'location[directory]=/does/not/exist',
      404,
      { _tag: 'LocationNotFoundError', location: { directory: '/does/not/exist' } },
    ],
  ]
  for (const [query, status, body] of cases) {
    const answer = await portico.fetch(`/api/event?${query}`)
    const given = (await answer.json()) as Record<string, unknown>
    assert.equal(answer.status, status, query)
    assert.deepEqual({ ...given, ...body }, given, query)
  }
})
