import assert from 'node:assert/strict'
import { realpathSync } from 'node:fs'
import { tmpdir } from 'node:os'
import test from 'node:test'
import { openPortico, type Portico } from '#test/support/portico.ts'
import { addWorkspaceKeys } from '#test/support/workspace-keys.ts'

const ONE = 'sk-portico-of-workspace-one'
const TWO = 'sk-portico-of-workspace-two'

/** Portico with two workspaces besides the one that it starts with, and a key for each. */
async function openTwo(): Promise<Portico> {
  const roots = [realpathSync(tmpdir())]
  await using opening = new AsyncDisposableStack()
  const settings = {
    PORTICO_AUTH: 'bearer',
    PORTICO_PROJECT_ROOTS: JSON.stringify({ wrk_one: roots, wrk_two: roots }),
  }
  const portico = opening.use(await openPortico(settings))
  const database = addWorkspaceKeys(portico, [
    { workspace: 'wrk_one', id: 'key_one', secret: ONE },
    { workspace: 'wrk_two', id: 'key_two', secret: TWO },
  ])
  database.close()
  opening.move()
  return portico
}

// biome-ignore lint/suspicious/noExplicitAny: what came over the wire has no type.
type Answer = { status: number; body: any }

function as(key: string, portico: Portico) {
  return async (method: string, path: string, body?: object): Promise<Answer> => {
    const answer = await portico.fetch(path, {
      method,
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    const text = await answer.text()
    return { status: answer.status, body: text === '' ? undefined : JSON.parse(text) }
  }
}

test('a session of another workspace does not exist, in any operation', async () => {
  await using portico = await openTwo()
  const [one, two] = [as(ONE, portico), as(TWO, portico)]
  const location = { directory: portico.project }
  for (let i = 0; i < 3; i++) assert.equal((await one('POST', '/api/session', { location })).status, 200)
  assert.equal((await one('POST', '/api/session', { id: 'ses_x', title: 'of one', location })).status, 200)
  assert.equal((await one('POST', '/api/session/ses_x/prompt', { id: 'msg_x', text: 't', resume: false })).status, 200)

  const asked: [string, string, object?][] = [
    ['GET', '/api/session/ses_x'],
    ['GET', '/api/session/ses_x/message'],
    ['GET', '/api/session/ses_x/message/msg_x'],
    ['GET', '/api/session/ses_x/permission'],
    ['POST', '/api/session/ses_x/prompt', { text: 't' }],
    ['POST', '/api/session/ses_x/wait'],
    ['POST', '/api/session/ses_x/interrupt'],
    ['POST', '/api/session/ses_x/interrupt?resume=true'],
    ['POST', '/api/session/ses_x/resume'],
    ['POST', '/api/session/ses_x/synthetic', { text: 't' }],
    ['POST', '/api/session/ses_x/move', { directory: '/' }],
    ['GET', '/api/session/ses_x/inbox'],
    ['PATCH', '/api/session/ses_x/inbox/msg_x', { delivery: 'queue' }],
    ['DELETE', '/api/session/ses_x/inbox/msg_x'],
    ['POST', '/api/session/ses_x/agent', { agent: 'plan' }],
    ['POST', '/api/session/ses_x/model', { model: { id: 'echo', providerID: 'portico' } }],
  ]
  for (const [method, path, body] of asked) {
    const answer = await two(method, path, body)
    assert.equal(answer.status, 404, `${method} ${path}`)
    assert.deepEqual(answer.body, {
      _tag: 'SessionNotFoundError',
      message: 'Session not found: ses_x',
      sessionID: 'ses_x',
    })
  }
  assert.deepEqual((await two('GET', '/api/session')).body, { data: [], cursor: {} })
  assert.deepEqual((await two('GET', '/api/session/active')).body, { data: {} })
  const { cursor } = (await one('GET', '/api/session?limit=1')).body
  const turned = await two('GET', `/api/session?cursor=${cursor.next}`)
  assert.ok(turned.status === 400 || turned.body.data.length === 0, JSON.stringify(turned))

  const own = await two('POST', '/api/session', { id: 'ses_x', title: 'of two', location })
  assert.equal(own.body.data.title, 'of two')
  assert.equal((await one('GET', '/api/session/ses_x')).body.data.title, 'of one')
  assert.equal((await two('POST', '/api/session/ses_x/prompt', { id: 'msg_x', text: 'u', resume: false })).status, 200)
})

test('a session moves only below the roots of its workspace, and the error does not reveal what exists elsewhere', async () => {
  await using portico = await openTwo()
  const one = as(ONE, portico)
  const location = { directory: portico.project }
  assert.equal((await one('POST', '/api/session', { id: 'ses_x', location })).status, 200)
  for (const directory of ['/', '/etc/passwd', '/does/not/exist', '../../../..']) {
    const message = `Directory is unavailable: ${directory}`
    const answer = await one('POST', '/api/session/ses_x/move', { directory })
    assert.deepEqual(answer, { status: 400, body: { _tag: 'InvalidRequestError', message, field: 'directory' } })
  }
  assert.deepEqual((await one('GET', '/api/session/ses_x/inbox')).body, { data: [] })
  assert.equal((await one('POST', '/api/session/ses_x/move', { directory: portico.outside })).status, 204)
})

test('a cursor that was tampered with is refused', async () => {
  await using portico = await openPortico()
  for (let i = 0; i < 3; i++) await portico.post('/api/session', {})
  const page = (await (await portico.fetch('/api/session?limit=1')).json()) as { cursor: { next: string } }
  const { next } = page.cursor
  const tampered = [
    next.slice(1),
    next.slice(0, -2),
    `${next}A`,
    next.toUpperCase(),
    Buffer.from('{"__proto__":{}}').toString('base64url'),
    Buffer.from('[]').toString('base64url'),
    'A'.repeat(4_000),
    '😀',
  ]
  for (const cursor of tampered) {
    const answer = await portico.fetch(`/api/session?cursor=${encodeURIComponent(cursor)}`)
    assert.equal(answer.status, 400, cursor)
    assert.deepEqual(await answer.json(), { _tag: 'InvalidCursorError', message: 'Invalid cursor' })
  }
})
