import assert from 'node:assert/strict'
import test from 'node:test'
import { createHttpServer, type HttpLimits } from '#gateway/http/http-server.ts'
import { openFacade } from '#test/support/facade.ts'
import { sendBytes, type WireAnswer } from '#test/support/raw-socket.ts'

const MALFORMED = { _tag: 'InvalidRequestError', message: 'The request is not valid HTTP' }
const TOO_LARGE = { _tag: 'InvalidRequestError', message: 'The headers are too large', kind: 'Headers' }
const HOST = {
  _tag: 'InvalidRequestError',
  message: 'The request must have exactly one Host header, with the address of the server',
  kind: 'Headers',
}

function expectJson(answer: WireAnswer, status: number, body: object, what: string): void {
  assert.equal(answer.status, status, `${what}: ${answer.head}`)
  assert.match(answer.head, /^content-type: application\/json; charset=utf-8$/im, what)
  assert.deepEqual(JSON.parse(answer.body), body, what)
}

test('bytes that are not HTTP are 400 in JSON, and the connection is closed', async () => {
  await using facade = await openFacade()
  const host = new URL(facade.url).host
  const post = `POST /api/session HTTP/1.1\r\nHost: ${host}\r\nContent-Type: application/json\r\n`
  const requests = [
    'garbage\r\n\r\n',
    '\x16\x03\x01\x00\xc8\x01\x00\x00\xc4',
    'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
    `FOO /api/info HTTP/1.1\r\nHost: ${host}\r\n\r\n`,
    `GET http://[/api/info HTTP/1.1\r\nHost: ${host}\r\n\r\n`,
    `POST http://[/api/info HTTP/1.1\r\nHost: ${host}\r\nContent-Length: 9\r\n\r\n{}`,
    `GET /api/info HTTP/3.7\r\nHost: ${host}\r\n\r\n`,
    `GET /api/info HTTP/1.1\r\nHost: ${host}\r\nX: a\0b\r\n\r\n`,
    `GET /api/info HTTP/1.1\r\nHost: ${host}\r\nX: a\r\n folded\r\n\r\n`,
    `GET /api/info HTTP/1.1\nHost: ${host}\n\n`,
    `${post}Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}`,
    `${post}Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n`,
    `${post}Content-Length: -1\r\n\r\n{}`,
    `${post}Content-Length: 99999999999999999999\r\n\r\n{}`,
    `${post}Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\nzz\r\n\r\n`,
    `${post}Transfer-Encoding: chunked\r\n\r\n2;${'a'.repeat(20_000)}\r\n{}\r\n0\r\n\r\n`,
  ]
  for (const bytes of requests) expectJson(await sendBytes(facade.url, bytes), 400, MALFORMED, bytes.slice(0, 200))
  assert.deepEqual(
    facade.log.filter(({ level }) => Number(level) >= 50),
    [],
  )
})

test('a body that ends before its length is 400', async () => {
  await using facade = await openFacade()
  const head = `POST /api/session HTTP/1.1\r\nHost: ${new URL(facade.url).host}\r\nContent-Type: application/json\r\n`
  for (const rest of ['Content-Length: 10\r\n\r\n{}', 'Transfer-Encoding: chunked\r\n\r\n5\r\n{}']) {
    expectJson(await sendBytes(facade.url, head + rest, { end: true }), 400, MALFORMED, rest)
  }
})

test('headers and addresses that are too large are 431', async () => {
  await using facade = await openFacade()
  const host = `Host: ${new URL(facade.url).host}`
  const long = 'a'.repeat(20_000)
  const header = `GET /api/info HTTP/1.1\r\n${host}\r\nX: ${long}\r\n\r\n`
  expectJson(await sendBytes(facade.url, header), 431, TOO_LARGE, 'header')
  expectJson(await sendBytes(facade.url, `GET /api/${long} HTTP/1.1\r\n${host}\r\n\r\n`), 431, TOO_LARGE, 'address')
})

test('each API family has its own body for requests that are not HTTP', async () => {
  await using facade = await openFacade()
  const gateway = await sendBytes(facade.url, 'POST /api/v1/responses?x HTTP/1.1\r\nContent-Length: x\r\n\r\n')
  const message = 'Invalid request parameters: the request is not valid HTTP'
  expectJson(gateway, 400, { error: { code: 400, message } }, 'gateway')
  const oauth = await sendBytes(facade.url, 'POST /api/v1/oauth/token HTTP/1.1\r\nContent-Length: x\r\n\r\n')
  const error_description = 'The request is not valid HTTP'
  expectJson(oauth, 400, { error: 'invalid_request', error_description }, 'oauth')
})

test('a missing, a second and a contradicting Host are 400; HTTP/1.0 may do without', async () => {
  await using facade = await openFacade()
  const { host } = new URL(facade.url)
  const get = (target: string, headers: string) =>
    sendBytes(facade.url, `GET ${target} HTTP/1.1\r\n${headers}Connection: close\r\n\r\n`)
  expectJson(await get('/api/info', ''), 400, HOST, 'none')
  expectJson(await get('/api/info', `Host: ${host}\r\nhost: evil.example\r\n`), 400, HOST, 'two')
  expectJson(await get('http://evil.example/api/info', `Host: ${host}\r\n`), 400, HOST, 'another')
  expectJson(await get('gopher://x/api/info', `Host: ${host}\r\n`), 400, HOST, 'no http')
  assert.equal((await get(`http://${host}/api/info`, `Host: ${host}\r\n`)).status, 200)
  assert.equal((await sendBytes(facade.url, 'GET /livez HTTP/1.0\r\n\r\n')).status, 200)
})

test('CONNECT is 405, an unknown expectation is 417, an upgrade is not made', async () => {
  await using facade = await openFacade()
  const { host } = new URL(facade.url)
  const connect = await sendBytes(facade.url, `CONNECT evil.example:443 HTTP/1.1\r\nHost: ${host}\r\n\r\n`)
  expectJson(connect, 405, { _tag: 'MethodNotAllowedError', message: 'Allowed here: GET, POST' }, 'CONNECT')
  assert.match(connect.head, /^allow: GET, POST$/im)
  const get = (headers: string) =>
    sendBytes(facade.url, `GET /api/info HTTP/1.1\r\nHost: ${host}\r\n${headers}\r\n\r\n`)
  const expectation = { _tag: 'InvalidRequestError', message: 'Only 100-continue may be expected', kind: 'Headers' }
  for (const expected of ['tea', '100-continue, tea', '100-continue;q=1', '']) {
    expectJson(await get(`Expect: ${expected}\r\nConnection: close`), 417, expectation, expected)
  }
  const old = `GET /livez HTTP/1.0\r\nHost: ${host}\r\nExpect: tea\r\n\r\n`
  assert.equal((await sendBytes(facade.url, old)).status, 200)
  assert.equal((await get('Upgrade: h2c\r\nConnection: Upgrade, close')).status, 200)
})

test('a body in a transfer coding beside chunked is 415', async () => {
  await using facade = await openFacade()
  const head = `POST /api/session HTTP/1.1\r\nHost: ${new URL(facade.url).host}\r\nContent-Type: application/json\r\n`
  const bytes = `${head}Transfer-Encoding: gzip, chunked\r\nConnection: close\r\n\r\n2\r\n{}\r\n0\r\n\r\n`
  const body = { _tag: 'InvalidRequestError', message: 'The body must not be compressed', kind: 'Payload' }
  expectJson(await sendBytes(facade.url, bytes), 415, { ...body }, 'gzip')
})

test('pipelined requests are answered in their order', async () => {
  await using facade = await openFacade()
  const { host } = new URL(facade.url)
  const request = (id: string, more = '') =>
    `GET /api/info HTTP/1.1\r\nHost: ${host}\r\nX-Request-Id: ${id}\r\n${more}\r\n`
  const answer = await sendBytes(facade.url, request('a') + request('b') + request('c', 'Connection: close\r\n'))
  const ids = `${answer.head}${answer.body}`.matchAll(/x-request-id: (\w)/gi)
  assert.deepEqual([...ids].map(([, id]) => id).join(''), 'abc')
})

const PATIENT: HttpLimits = { headersMs: 60_000, requestMs: 60_000, idleMs: 60_000, stalledMs: 60_000, checkMs: 10 }

/** A server that answers only with a large text, and only once the whole request has arrived. */
async function openServer(limits: Partial<HttpLimits>) {
  const server = createHttpServer(
    (request, response) => request.on('end', () => response.end('x'.repeat(50_000_000))).resume(),
    { ...PATIENT, ...limits },
  )
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as { port: number }
  return {
    server,
    url: `http://127.0.0.1:${port}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

test('headers that never end, and a body that never ends, are 408', async () => {
  const body = { _tag: 'RequestTimeoutError', message: 'The request took too long to arrive' }
  await using headers = await openServer({ headersMs: 1_000 })
  expectJson(await sendBytes(headers.url, 'GET /api/info HTTP/1.1\r\nHo'), 408, body, 'headers')
  await using whole = await openServer({ headersMs: 1_000, requestMs: 1_500 })
  const post = 'POST /api/session HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n{'
  expectJson(await sendBytes(whole.url, post), 408, body, 'body')
})

test('a connection on which nothing is ever sent is closed without a word', async () => {
  await using held = await openServer({ headersMs: 50 })
  assert.deepEqual(await sendBytes(held.url, ''), { status: 0, head: '', body: '' })
})

test('a client that takes nothing of its answer is cut off; one that waits for its answer is not', async () => {
  await using stalled = await openServer({ stalledMs: 100 })
  const { Socket } = await import('node:net')
  const client = new Socket().connect(Number(new URL(stalled.url).port), '127.0.0.1').pause()
  const closed = new Promise((resolve) => stalled.server.on('connection', (socket) => socket.on('close', resolve)))
  client.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n')
  await closed
  client.destroy()
  const slow = createHttpServer((_, response) => void setTimeout(() => response.end('late'), 1_500), {
    ...PATIENT,
    stalledMs: 500,
  })
  using stack = new DisposableStack()
  stack.defer(() => {
    slow.closeAllConnections()
    slow.close()
  })
  await new Promise<void>((resolve) => slow.listen(0, '127.0.0.1', resolve))
  const { port } = slow.address() as { port: number }
  assert.equal(await (await fetch(`http://127.0.0.1:${port}`)).text(), 'late')
})

test('HEAD on the event stream answers its headers and ends', async () => {
  await using facade = await openFacade()
  const answer = await facade.fetch('/api/event', { method: 'HEAD' })
  assert.equal(answer.status, 200)
  assert.equal(answer.headers.get('content-type'), 'text/event-stream')
  assert.equal(await answer.text(), '')
  assert.equal(facade.listener.lifecycle.openStreams, 0)
})
