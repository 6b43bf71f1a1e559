import assert from 'node:assert/strict'
import test from 'node:test'
import { openFacade, TEST_KEYS } from '#test/support/facade.ts'
import { rawRequest } from '#test/support/raw-http.ts'

const bearer = { authorization: `Bearer ${TEST_KEYS.workspace}` }

test('an unknown route is 404 in the body of its API family', async () => {
  await using facade = await openFacade()
  for (const path of ['/', '/api', '/api/nothing', '/api/v10', '/api/v1x/responses']) {
    const answer = await facade.fetch(path)
    assert.equal(answer.status, 404, path)
    assert.equal(answer.headers.get('content-type'), 'application/json; charset=utf-8')
    assert.deepEqual(await answer.json(), { _tag: 'NotFoundError', message: 'No such route' })
  }
  const gateway = await facade.fetch('/api/v1/nothing', { headers: bearer })
  assert.equal(gateway.status, 404)
  assert.deepEqual(await gateway.json(), { error: { code: 404, message: 'Resource not found: no such route' } })
  const hint = 'Resource not found: the base URL ends in /v1, and the client adds another /v1'
  for (const path of ['/api/v1/v1/messages', '/v1/v1/responses']) {
    const twice = await facade.fetch(path, { method: 'POST', headers: { 'x-api-key': 'any' } })
    assert.deepEqual(await twice.json(), { error: { code: 404, message: hint } }, path)
  }
  const lacking = 'Resource not found: the base URL must end in /api/v1 or /v1'
  for (const path of ['/chat/completions', '/api/chat/completions', '/responses', '/api/responses?a', '/api/models']) {
    const without = await facade.fetch(path, { method: 'POST', body: '{}' })
    assert.deepEqual([without.status, await without.json()], [404, { error: { code: 404, message: lacking } }], path)
  }
  for (const path of ['/messages', '/api/messages']) {
    const without = await facade.fetch(path, { method: 'POST', body: '{}' })
    const body = { type: 'error', error: { type: 'not_found_error', message: lacking, error_type: 'not_found' } }
    const { request_id: _, ...found } = (await without.json()) as Record<string, unknown>
    assert.deepEqual([without.status, found], [404, body], path)
  }
  const oauth = await facade.fetch('/api/v1/oauth/nothing')
  assert.equal(oauth.status, 404)
  assert.deepEqual(await oauth.json(), { error: 'invalid_request', error_description: 'No such route' })
})

test('the routes of OpenCode that are not implemented are 404 for every request', async () => {
  await using facade = await openFacade()
  const ofSession = [
    'revert',
    'revert/stage',
    'revert/commit',
    'form',
    'form/frm_1',
    'shell',
    'command',
    'diff',
    'history',
    'generate',
  ]
  const others = [
    'shell',
    'pty',
    'command',
    'fs/list',
    'fs/find',
    'fs/read/a',
    'vcs',
    'reference',
    'credential',
    'integration',
  ]
  const paths = [...ofSession.map((path) => `session/ses_1/${path}`), ...others, 'project', 'worktree', 'generate']
  for (const path of paths) {
    for (const init of [{}, { method: 'POST', body: '{}' }, { method: 'DELETE' }]) {
      const headers = { 'content-type': 'application/json' }
      const answer = await facade.fetch(`/api/${path}`, { ...init, headers })
      const whole = [answer.status, await answer.json()]
      assert.deepEqual(whole, [404, { _tag: 'NotFoundError', message: 'No such route' }], path)
    }
  }
})

test('a known path with another method is 405, and names the methods it has', async () => {
  await using facade = await openFacade()
  const answer = await facade.fetch('/api/session', { method: 'PUT' })
  assert.equal(answer.status, 405)
  assert.equal(answer.headers.get('allow'), 'GET, HEAD, POST')
  const message = 'Allowed here: GET, HEAD, POST'
  assert.deepEqual(await answer.json(), { _tag: 'MethodNotAllowedError', message })
  const options = await facade.fetch('/api/session', { method: 'OPTIONS' })
  assert.equal(options.status, 204)
  assert.equal(options.headers.get('allow'), 'GET, HEAD, POST')
})

test('HEAD answers as GET does, without a body', async () => {
  await using facade = await openFacade()
  const answer = await facade.fetch('/api/info', { method: 'HEAD' })
  assert.equal(answer.status, 200)
  assert.ok(Number(answer.headers.get('content-length')) > 2)
  assert.equal(await answer.text(), '')
})

test('a path that is not percent-encoded UTF-8 is 400, never 500', async () => {
  await using facade = await openFacade()
  for (const path of ['/api/session/%ff', '/api/session/%E0%A4%A', '/api/agent/%']) {
    const answer = await rawRequest(facade.url, { path })
    assert.equal(answer.status, 400, path)
    const message = 'The path is not percent-encoded UTF-8'
    assert.deepEqual(JSON.parse(answer.text), { _tag: 'InvalidRequestError', message, kind: 'Params' })
  }
})

test('an id of a path is checked by its prefix, its length and for control characters', async () => {
  await using facade = await openFacade()
  const invalidSession = { _tag: 'InvalidRequestError', message: 'Invalid session ID', field: 'sessionID' }
  for (const id of ['abc', 'Ses_1', `ses${'x'.repeat(126)}`, 'ses_%00', 'ses_%0A']) {
    const answer = await facade.fetch(`/api/session/${id}`)
    assert.equal(answer.status, 400, id)
    assert.deepEqual(await answer.json(), invalidSession)
  }
  const message = await facade.fetch('/api/session/ses_1/message/evt_1')
  assert.equal(message.status, 400)
  const invalidMessage = {
    _tag: 'InvalidRequestError',
    message: 'messageID: must be a message id (msg_…)',
    field: 'messageID',
  }
  assert.deepEqual(await message.json(), invalidMessage)
})

test('a request id is kept when it is sane, replaced when not, and always returned', async () => {
  await using facade = await openFacade()
  const kept = await facade.fetch('/api/info', { headers: { 'x-request-id': 'abc-123' } })
  assert.equal(kept.headers.get('x-request-id'), 'abc-123')
  for (const given of ['a b', 'x'.repeat(129), '"quoted"']) {
    const answer = await facade.fetch('/nothing', { headers: { 'x-request-id': given } })
    assert.match(answer.headers.get('x-request-id') ?? '', /^req_[0-9A-Za-z]{24}$/)
  }
})

test('each request is one line in the log, without its query', async () => {
  await using facade = await openFacade()
  await (await facade.fetch('/api/info?token=secret', { headers: { 'x-request-id': 'r1' } })).text()
  await new Promise((resolve) => setImmediate(resolve))
  const lines = facade.log.filter(({ msg }) => msg === 'request')
  assert.equal(lines.length, 1)
  const { requestId, method, path, status, ms } = lines[0] as Record<string, unknown>
  assert.deepEqual(
    { requestId, method, path, status },
    { requestId: 'r1', method: 'GET', path: '/api/info', status: 200 },
  )
  assert.equal(typeof ms, 'number')
})
