import assert from 'node:assert/strict'
import test from 'node:test'
import { openFacade, TEST_KEYS } from '#test/support/facade.ts'
import { generationError } from '#test/support/gateway-error.ts'
import { rawRequest } from '#test/support/raw-http.ts'

const unauthorized = { _tag: 'UnauthorizedError', message: 'Authentication required' }
const basic = { PORTICO_AUTH: 'basic', PORTICO_BASIC_PASSWORD: 'correct horse' }
const basicHeader = (user: string, password: string) => `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`

test('none: answers requests for any loopback name of this server', async () => {
  await using facade = await openFacade()
  for (const host of ['localhost', '127.0.0.1', '127.1.2.3', '[::1]', 'LOCALHOST']) {
    const answer = await rawRequest(`${facade.url}/api/info`, { headers: { host: `${host}:${facade.listener.port}` } })
    assert.equal(answer.status, 200, host)
  }
})

test('none: another host name is 403, so that a rebound name reaches nothing', async () => {
  await using facade = await openFacade()
  const { port } = facade.listener
  const hosts = [`evil.example:${port}`, `localhost.evil.example:${port}`, 'localhost', `127.0.0.1:${port + 1}`, 'x']
  for (const host of hosts) {
    const answer = await rawRequest(`${facade.url}/api/info`, { headers: { host } })
    assert.equal(answer.status, 403, host)
    const message = 'Requests must address a loopback name of this server, unless PORTICO_AUTH is basic or bearer'
    assert.deepEqual(JSON.parse(answer.text), { _tag: 'ForbiddenError', message })
  }
})

test('none: a page of another origin is 403, one of this machine is answered and may read', async () => {
  await using facade = await openFacade()
  for (const origin of [
    'https://evil.example',
    'null',
    'http://localhost.evil.example',
    'file://',
    'http://evil@localhost',
    '',
  ]) {
    const answer = await facade.fetch('/api/info', { headers: { origin } })
    assert.equal(answer.status, 403, origin)
    assert.equal(answer.headers.get('access-control-allow-origin'), null)
    const message = 'Requests of this origin are not allowed: PORTICO_CORS_ORIGINS lists those that are'
    assert.deepEqual(await answer.json(), { _tag: 'ForbiddenError', message })
  }
  for (const origin of [facade.url, 'http://localhost:5173', 'http://[::1]:8080']) {
    const answer = await facade.fetch('/api/info', { headers: { origin } })
    assert.equal(answer.status, 200, origin)
    assert.equal(answer.headers.get('access-control-allow-origin'), origin)
    assert.equal(answer.headers.get('vary'), 'Origin')
  }
})

test('none: a request of a page of another site without an Origin, as pictures and frames send it, is 403', async () => {
  await using facade = await openFacade()
  const get = (site: string) => rawRequest(`${facade.url}/api/info`, { headers: { 'sec-fetch-site': site } })
  const { status, text } = await get('cross-site')
  assert.equal(status, 403)
  assert.deepEqual(JSON.parse(text), {
    _tag: 'ForbiddenError',
    message: 'Requests of this origin are not allowed: PORTICO_CORS_ORIGINS lists those that are',
  })
  for (const site of ['none', 'same-origin', 'same-site']) assert.equal((await get(site)).status, 200, site)
})

test('a preflight needs no credentials; only allowed origins get the headers that let them in', async () => {
  await using facade = await openFacade({}, { ...basic, PORTICO_CORS_ORIGINS: 'https://app.example' })
  const preflight = (origin: string) =>
    facade.fetch('/api/session', { method: 'OPTIONS', headers: { origin, 'access-control-request-method': 'POST' } })
  const allowed = await preflight('https://app.example')
  assert.equal(allowed.status, 204)
  assert.equal(allowed.headers.get('access-control-allow-origin'), 'https://app.example')
  assert.equal(allowed.headers.get('access-control-allow-methods'), 'GET, POST, PUT, PATCH, DELETE')
  const other = await preflight('http://localhost:5173')
  assert.equal(other.status, 204)
  assert.equal(other.headers.get('access-control-allow-origin'), null)
  assert.equal(other.headers.get('access-control-allow-methods'), null)
})

test('a page of an allowed origin may send the headers of its client library, and read the ids', async () => {
  await using facade = await openFacade({}, { PORTICO_CORS_ORIGINS: 'https://app.example' })
  const headers = { origin: 'https://app.example', 'access-control-request-method': 'POST' }
  const ask = (wanted: string, origin = headers.origin) =>
    rawRequest(`${facade.url}/api/v1/responses`, {
      method: 'OPTIONS',
      headers: { ...headers, origin, 'access-control-request-headers': wanted },
    })
  const wanted = 'authorization,content-type,http-referer,last-event-id,x-api-key,x-session-id,x-stainless-os,x-title'
  const allowed = await ask(wanted)
  assert.equal(allowed.status, 204)
  assert.equal(allowed.headers['access-control-allow-headers'], wanted)
  assert.equal((await ask('a b, c:d')).headers['access-control-allow-headers'], undefined)
  assert.equal((await ask(wanted, 'https://evil.example')).headers['access-control-allow-headers'], undefined)
  const answer = await rawRequest(`${facade.url}/api/v1/responses`, { headers: { origin: headers.origin } })
  assert.equal(answer.headers['access-control-expose-headers'], 'x-request-id, x-generation-id, retry-after')
})

test('basic: the right name and password are answered, under any host name', async () => {
  await using facade = await openFacade({}, basic)
  const headers = { authorization: basicHeader('portico', 'correct horse'), host: 'portico.example' }
  assert.equal((await rawRequest(`${facade.url}/api/info`, { headers })).status, 200)
})

test('basic: missing and wrong credentials are 401 with a challenge', async () => {
  await using facade = await openFacade({}, basic)
  const wrong = [
    undefined,
    basicHeader('portico', 'wrong'),
    basicHeader('opencode', 'correct horse'),
    basicHeader('portico', 'correct horse '),
    'Basic !!!',
    'Basic',
    `Bearer ${TEST_KEYS.workspace}`,
  ]
  for (const authorization of wrong) {
    const answer = await facade.fetch('/api/info', authorization === undefined ? {} : { headers: { authorization } })
    assert.equal(answer.status, 401, authorization ?? 'none')
    assert.equal(answer.headers.get('www-authenticate'), 'Basic realm="Secure Area"')
    assert.deepEqual(await answer.json(), unauthorized)
  }
})

test('basic: a page of another origin is 403, since a browser remembers passwords', async () => {
  await using facade = await openFacade({}, basic)
  const headers = { authorization: basicHeader('portico', 'correct horse'), origin: 'http://localhost:5173' }
  const answer = await facade.fetch('/api/session', { method: 'POST', headers })
  assert.equal(answer.status, 403)
  const message = 'Requests of this origin are not allowed: PORTICO_CORS_ORIGINS lists those that are'
  assert.deepEqual(await answer.json(), { _tag: 'ForbiddenError', message })
})

test('bearer: an API key is answered, none and a bad one are 401, a management key is 403', async () => {
  await using facade = await openFacade({}, { PORTICO_AUTH: 'bearer', PORTICO_HOST: '127.0.0.1' })
  const get = (headers: Record<string, string>) => facade.fetch('/api/info', { headers })
  assert.equal((await get({ authorization: `Bearer ${TEST_KEYS.workspace}` })).status, 200)
  assert.equal((await get({ authorization: `bearer  ${TEST_KEYS.workspace} ` })).status, 200)
  const challenged: [Record<string, string>, string][] = [
    [{}, 'Bearer realm="portico"'],
    [{ authorization: basicHeader('a', 'b') }, 'Bearer realm="portico"'],
    [{ authorization: 'Bearer sk-portico-wrong' }, 'Bearer realm="portico", error="invalid_token"'],
    [{ authorization: 'Bearer' }, 'Bearer realm="portico", error="invalid_token"'],
    [{ authorization: 'Bearer a b' }, 'Bearer realm="portico", error="invalid_token"'],
  ]
  for (const [headers, challenge] of challenged) {
    const answer = await get(headers)
    assert.equal(answer.status, 401)
    assert.equal(answer.headers.get('www-authenticate'), challenge)
    assert.deepEqual(await answer.json(), unauthorized)
  }
  const management = await get({ authorization: `Bearer ${TEST_KEYS.management}` })
  assert.equal(management.status, 403)
  const message = 'Management keys have no access to sessions'
  assert.deepEqual(await management.json(), { _tag: 'ForbiddenError', message })
})

test('the gateway API wants an API key in every mode', async () => {
  await using facade = await openFacade()
  const missing = await facade.fetch('/api/v1/responses', { method: 'POST' })
  assert.equal(missing.status, 401)
  assert.equal(missing.headers.get('www-authenticate'), 'Bearer realm="portico"')
  assert.deepEqual(await missing.json(), generationError(401, 'Missing Authentication header'))
  const authorization = 'Bearer sk-portico-wrong'
  const wrong = await facade.fetch('/api/v1/responses', { method: 'POST', headers: { authorization } })
  assert.equal(wrong.status, 401)
  assert.equal(wrong.headers.get('www-authenticate'), 'Bearer realm="portico", error="invalid_token"')
  assert.deepEqual(await wrong.json(), generationError(401, 'Invalid API key or access token'))
  for (const bare of [TEST_KEYS.workspace, basicHeader('a', 'b')]) {
    const answer = await facade.fetch('/api/v1/models', { headers: { authorization: bare } })
    assert.deepEqual([answer.status, answer.headers.get('www-authenticate')], [401, 'Bearer realm="portico"'])
    const message = 'Invalid API key or access token: the header Authorization must begin with Bearer'
    assert.deepEqual(await answer.json(), { error: { code: 401, message } })
  }
})

test('two Authorization headers are 400, whichever of them is right', async () => {
  const right = `Bearer ${TEST_KEYS.workspace}`
  const modes: Record<string, string>[] = [{}, basic, { PORTICO_AUTH: 'bearer', PORTICO_HOST: '127.0.0.1' }]
  for (const env of modes) {
    await using facade = await openFacade({}, env)
    for (const authorization of [
      [right, right],
      [right, 'Bearer sk-portico-wrong'],
      [basicHeader('portico', 'correct horse'), right],
    ]) {
      const instance = await rawRequest(`${facade.url}/api/info`, { headers: { authorization } })
      const message = 'authorization: must be given only once'
      assert.equal(instance.status, 400)
      assert.deepEqual(JSON.parse(instance.text), { _tag: 'InvalidRequestError', message, kind: 'Headers' })
      const gateway = await rawRequest(`${facade.url}/api/v1/responses`, { method: 'POST', headers: { authorization } })
      assert.equal(gateway.status, 400)
      assert.deepEqual(JSON.parse(gateway.text), generationError(400, `Invalid request parameters: ${message}`))
    }
  }
})

test('without credentials even an unknown route is 401', async () => {
  await using facade = await openFacade({}, basic)
  assert.equal((await facade.fetch('/api/nothing')).status, 401)
  assert.equal((await facade.fetch('/api/v1/nothing')).status, 401)
})

test('no spelling of a path gets around authentication', async () => {
  await using facade = await openFacade({}, basic)
  const paths = [
    '/API/info',
    '//api/info',
    '/./api/info',
    '/x/../api/info',
    '/%61pi/info',
    '/api%2finfo',
    '/api/info/',
    '/api/info?x',
    '/api/v1/../info',
    '/api/v1/oauth/../../info',
    `${facade.url}/api/info`,
    `${facade.url}/api/v1/oauth/../../info`,
  ]
  for (const path of paths) {
    const answer = await rawRequest(facade.url, { path })
    assert.ok([401, 404].includes(answer.status), `${path}: ${answer.status}`)
    assert.doesNotMatch(answer.text, /pid/)
  }
})
