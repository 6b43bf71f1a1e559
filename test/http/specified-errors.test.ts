import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import test from 'node:test'
import { openPortico, type Portico } from '#test/support/portico.ts'
import { rawRequest } from '#test/support/raw-http.ts'

/**
 * Part 7 of the specification: every row of its table, for every operation that it names, with the whole body. A
 * failing update of plugins (503) is in `plugin-packages.test.ts`.
 */

interface Asked {
  readonly method?: string
  readonly path: string
  readonly body?: object
}
type Row = readonly [status: number, body: object, asked: Asked]

const AUTHORIZATION = `Basic ${Buffer.from('portico:correct horse').toString('base64')}`
const BASIC = { PORTICO_AUTH: 'basic', PORTICO_BASIC_PASSWORD: 'correct horse' }

const tokens = { input: 0, output: 0, reasoning: 0, cache: { read: 0, write: 0 } }
const info = (id: string, more: object = {}) => ({ id, cost: 0, tokens, time: { created: 1 }, ...more })
const IMPORT = '/api/experimental/session/import'
const model = { id: 'echo', providerID: 'portico' }

/** A request for each operation of part 4, about the given session. */
const operations = (session: string): Readonly<Record<string, Asked>> => ({
  'server.info': { path: '/api/info' },
  'location.get': { path: '/api/location' },
  'location.reload': { method: 'POST', path: '/api/location/reload' },
  'agent.list': { path: '/api/agent' },
  'agent.get': { path: '/api/agent/build' },
  'plugin.list': { path: '/api/plugin' },
  'plugin.check': { method: 'POST', path: '/api/plugin/check', body: {} },
  'plugin.update': { method: 'POST', path: '/api/plugin/update', body: { targets: [] } },
  'session.list': { path: '/api/session' },
  'session.create': { method: 'POST', path: '/api/session', body: {} },
  'experimental.session.stats': { path: '/api/experimental/session/stats' },
  'experimental.session.import': { method: 'POST', path: IMPORT, body: { info: info('ses_new'), messages: [] } },
  'experimental.session.export': { path: `/api/experimental/session/${session}/export` },
  'session.active': { path: '/api/session/active' },
  'session.get': { path: `/api/session/${session}` },
  'session.remove': { method: 'DELETE', path: `/api/session/${session}` },
  'session.update': { method: 'PATCH', path: `/api/session/${session}`, body: {} },
  'session.fork': { method: 'POST', path: `/api/session/${session}/fork`, body: {} },
  'session.switchAgent': { method: 'POST', path: `/api/session/${session}/agent`, body: { agent: 'plan' } },
  'session.switchModel': { method: 'POST', path: `/api/session/${session}/model`, body: { model } },
  'session.move': { method: 'POST', path: `/api/session/${session}/move`, body: { directory: '.' } },
  'session.prompt': { method: 'POST', path: `/api/session/${session}/prompt`, body: { text: 'Hi' } },
})

function ask({ url }: Portico, { method = 'GET', path, body }: Asked, authorization: string | string[] | undefined) {
  const headers = {
    ...(authorization === undefined ? {} : { authorization }),
    ...(body === undefined ? {} : { 'content-type': 'application/json' }),
  }
  return rawRequest(`${url}${path}`, { method, headers, ...(body === undefined ? {} : { body: JSON.stringify(body) }) })
}

async function expectRows(portico: Portico, rows: readonly Row[]): Promise<void> {
  for (const [status, body, asked] of rows) {
    const answer = await ask(portico, asked, AUTHORIZATION)
    assert.deepEqual([answer.status, JSON.parse(answer.text)], [status, body], JSON.stringify(asked))
  }
}

const payload = (message: string) => ({ _tag: 'InvalidRequestError', message, kind: 'Payload' })
const query = (message: string) => ({ _tag: 'InvalidRequestError', message, kind: 'Query' })
const ofField = (field: string, message: string) => ({ _tag: 'InvalidRequestError', message, field })
const notFound = (sessionID: string) => ({
  _tag: 'SessionNotFoundError',
  message: `Session not found: ${sessionID}`,
  sessionID,
})

test('every operation: 401 without credentials, and 400 for an invalid request', async () => {
  await using portico = await openPortico(BASIC)
  for (const [id, asked] of Object.entries(operations('ses_none'))) {
    const refused = await ask(portico, asked, undefined)
    const unauthorized = { _tag: 'UnauthorizedError', message: 'Authentication required' }
    assert.deepEqual([refused.status, JSON.parse(refused.text)], [401, unauthorized], id)
    assert.equal(refused.headers['www-authenticate'], 'Basic realm="Secure Area"', id)
    const { status, text } = await ask(portico, asked, [AUTHORIZATION, AUTHORIZATION])
    const message = 'authorization: must be given only once'
    assert.deepEqual([status, JSON.parse(text)], [400, { _tag: 'InvalidRequestError', message, kind: 'Headers' }], id)
  }
})

test('400 InvalidRequestError, by the request of each operation', async () => {
  await using portico = await openPortico(BASIC)
  const { project } = portico
  await ask(portico, { method: 'POST', path: '/api/session', body: { id: 'ses_1' } }, AUTHORIZATION)
  const all = operations('ses_1')
  const rows: Row[] = []
  for (const [id, { method, body, path }] of Object.entries(all)) {
    if (path.includes('ses_1'))
      rows.push([
        400,
        ofField('sessionID', 'Invalid session ID'),
        { method, body, path: path.replace('ses_1', 'x') } as Asked,
      ])
    if (body === undefined) continue
    rows.push([400, payload('A request body is required'), { method, path } as Asked])
    const unknown = { ...body, unknown: 1 }
    // Each is read as it arrives: what comes last is refused last.
    if (id !== 'experimental.session.import')
      rows.push([400, payload('The body has the unknown member "unknown"'), { method, path, body: unknown } as Asked])
  }
  const missing = join(project, 'missing')
  rows.push(
    [400, query('location: must be location[directory]'), { path: '/api/location?location[x]=1' }],
    [400, query('limit: must be an integer, at least 1'), { path: '/api/session?limit=0' }],
    [400, query('subpath: requires project'), { path: '/api/session?subpath=a' }],
    [
      400,
      ofField('from', 'from: must be before the end of the range'),
      { path: '/api/experimental/session/stats?from=2&to=1' },
    ],
    [
      400,
      ofField('timezone', 'timezone: must be the IANA name of a time zone'),
      { path: '/api/experimental/session/stats?timezone=Mars' },
    ],
    [400, query('sanitize: must be "true" or "false"'), { path: '/api/experimental/session/ses_1/export?sanitize=1' }],
    [
      400,
      ofField('target', 'No plugin here is the package nobody'),
      { method: 'POST', path: '/api/plugin/check', body: { target: 'nobody' } },
    ],
    [
      400,
      ofField('targets', 'No plugin here is the package nobody'),
      { method: 'POST', path: '/api/plugin/update', body: { targets: ['nobody'] } },
    ],
    [
      400,
      ofField('directory', `Directory does not exist: ${missing}`),
      { method: 'POST', path: '/api/session/ses_1/move', body: { directory: missing } },
    ],
    [
      400,
      { ...payload('Session ses_1 has no messages'), kind: 'empty_session' },
      { method: 'POST', path: '/api/session/ses_1/fork', body: {} },
    ],
    [
      400,
      ofField('files', 'The attachment cannot be read: only data: and file: are read'),
      { method: 'POST', path: '/api/session/ses_1/prompt', body: { text: '', files: [{ uri: 'http://x' }] } },
    ],
  )
  await expectRows(portico, rows)
})

test('400 InvalidCursorError, 404 and 409, by the operations that have them', async () => {
  await using portico = await openPortico(BASIC)
  for (const id of ['ses_1', 'ses_2']) {
    await ask(portico, { method: 'POST', path: '/api/session', body: { id } }, AUTHORIZATION)
    const body = { id: `msg_of_${id}`, text: 'Hi', resume: false }
    await ask(portico, { method: 'POST', path: `/api/session/${id}/prompt`, body }, AUTHORIZATION)
  }
  const rows: Row[] = Object.values(operations('ses_none'))
    .filter(({ path }) => path.includes('ses_none'))
    .map((asked) => [404, notFound('ses_none'), asked])
  assert.equal(rows.length, 9)
  const imported = (body: object): Asked => ({ method: 'POST', path: IMPORT, body })
  const conflict = (resource: string, message: string) => ({ _tag: 'ConflictError', message, resource })
  const used = conflict('msg_of_ses_1', 'The id msg_of_ses_1 is used for something else')
  const missing = {
    _tag: 'MessageNotFoundError',
    message: 'Message not found: msg_none',
    sessionID: 'ses_1',
    messageID: 'msg_none',
  }
  rows.push(
    [400, { _tag: 'InvalidCursorError', message: 'Invalid cursor' }, { path: '/api/session?cursor=x' }],
    [
      404,
      { _tag: 'AgentNotFoundError', message: 'Agent not found: nobody', agentID: 'nobody' },
      { path: '/api/agent/nobody' },
    ],
    [404, notFound('ses_none'), imported({ info: info('ses_new', { parentID: 'ses_none' }), messages: [] })],
    [404, missing, { method: 'POST', path: '/api/session/ses_1/fork', body: { before: 'msg_none' } }],
    [409, conflict('ses_1', 'Session already exists: ses_1'), imported({ info: info('ses_1'), messages: [] })],
    [409, used, { method: 'POST', path: '/api/session/ses_1/prompt', body: { id: 'msg_of_ses_1', text: 'Ho' } }],
    [409, used, { method: 'POST', path: '/api/session/ses_2/prompt', body: { id: 'msg_of_ses_1', text: 'Hi' } }],
  )
  await expectRows(portico, rows)
})

test('500 UnknownError of an export, and 503 ServiceUnavailableError of a reload', async () => {
  const data = await mkdtemp(join(tmpdir(), 'portico-'))
  try {
    await using before = await openPortico({ ...BASIC, PORTICO_DATA_DIR: data })
    const message = { id: 'msg_1', type: 'system', time: { created: 1 }, text: 'x' }
    await ask(
      before,
      { method: 'POST', path: IMPORT, body: { info: info('ses_1'), messages: [message] } },
      AUTHORIZATION,
    )
    await before[Symbol.asyncDispose]()
    const file = new DatabaseSync(join(data, 'session.sqlite'))
    file.prepare("UPDATE messages SET data = '{'").run()
    file.close()
    await using portico = await openPortico({ ...BASIC, PORTICO_DATA_DIR: data }, { 'gone/a.txt': '' })
    const { status, text } = await ask(portico, { path: '/api/experimental/session/ses_1/export' }, AUTHORIZATION)
    const { ref, ...body } = JSON.parse(text) as { ref: string }
    assert.deepEqual([status, body], [500, { _tag: 'UnknownError', message: 'Internal server error' }])
    assert.match(ref, /^err_[0-9a-f]{8}$/)
    assert.ok(portico.log.some((line) => line.ref === ref && line.err !== undefined))

    const directory = join(portico.project, 'gone')
    await ask(portico, { path: `/api/agent?location[directory]=${encodeURIComponent(directory)}` }, AUTHORIZATION)
    await rm(directory, { recursive: true })
    const problem = `Locations could not be reloaded: ${directory}: it is gone, or cannot be read`
    const unavailable = { _tag: 'ServiceUnavailableError', message: problem, service: 'location' }
    await expectRows(portico, [[503, unavailable, { method: 'POST', path: '/api/location/reload' }]])
  } finally {
    await rm(data, { recursive: true, force: true })
  }
})
