import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import pino from 'pino'
import { IdentityService } from '#gen/portico/identity/v1/identity_service_pb.js'
import { SessionService } from '#gen/portico/session/v1/session_service_pb.js'
import { createHttp2Transport } from '#shared/http2/transport.ts'
import { readServiceProcessConfig } from '#shared/process/process-config.ts'
import { serve } from '#shared/process/serve.ts'
import { createClient } from '#shared/rpc/client.ts'
import { PeerReport } from '#shared/rpc/peer-report.ts'
import { Complaint } from '#shared/telemetry/complaint.ts'
import { testSecret } from '#test/support/transports.ts'
import { waitFor } from '#test/support/wait-until.ts'
import { event, probe } from './probe.ts'

/** A logger, with the messages and levels of its lines of level warn and above, or of another one. */
function lines(level = 'warn') {
  const seen: string[] = []
  const levels: string[] = []
  const write = (line: string): void => {
    const { msg, level: number } = JSON.parse(line) as { msg: string; level: number }
    seen.push(msg)
    levels.push(pino.levels.labels[number] ?? '')
  }
  return { seen, levels, logger: pino({ level }, { write }) }
}

/** A server of the session service. */
async function serveSession(port = 0) {
  const { seen, logger } = lines()
  const routes = [
    probe({
      getSession: () => ({}),
      async *streamEvents({ position }) {
        if (position !== undefined) yield event(Number(position))
      },
    }),
  ]
  const server = await serve({ routes, host: '127.0.0.1', port, secret: testSecret, logger })
  return { server, seen, url: server.url, [Symbol.asyncDispose]: () => server[Symbol.asyncDispose]() }
}

/** A caller of a service at an address, in a process that was started a minute ago, or `age` milliseconds ago. */
function caller(name: 'session' | 'identity', url: string, { secret = testSecret, age = 60_000 } = {}) {
  const { logger, ...logged } = lines('info')
  const clock = { time: 0, now: Date.now, monotonic: () => clock.time }
  const report = new PeerReport({ name, url, setting: `PORTICO_${name.toUpperCase()}_URL` }, logger, clock)
  clock.time = age
  const transport = createHttp2Transport({ url, secret, report })
  return { ...logged, transport, clock, [Symbol.asyncDispose]: () => transport[Symbol.asyncDispose]() }
}

async function failTimes(times: number, call: () => Promise<unknown>): Promise<void> {
  for (let i = 0; i < times; i++) await assert.rejects(call())
}

test('an address without a server is one line that names the setting, and one when a server answers there', async () => {
  const first = await serveSession()
  await first[Symbol.asyncDispose]()
  await using client = caller('session', first.url)
  const session = createClient(SessionService, client.transport)
  await failTimes(3, () => session.getSession({}))
  assert.deepEqual(client.seen, [
    `The session service cannot be reached at ${first.url}: ECONNREFUSED; see PORTICO_SESSION_URL`,
  ])
  await using _ = await serveSession(Number(new URL(first.url).port))
  for (let i = 0; i < 3; i++) await session.getSession({})
  assert.deepEqual(client.seen.slice(1), [`The session service responds at ${first.url}`])
  assert.deepEqual(client.levels, ['error', 'warn'])
})

test('logs a peer that never answered as an error after half a minute, and one that went away at once', async () => {
  const first = await serveSession()
  await first[Symbol.asyncDispose]()
  const again = () => serveSession(Number(new URL(first.url).port))
  await using prompt = caller('session', first.url, { age: 0 })
  await using late = caller('session', first.url, { age: 0 })
  const fail = ({ transport }: typeof late) =>
    failTimes(2, () => createClient(SessionService, transport).getSession({}))
  for (const client of [prompt, late]) {
    await fail(client)
    client.clock.time = 29_999
    await fail(client)
    assert.deepEqual(client.levels, ['info'])
  }
  late.clock.time = 30_000
  await fail(late)
  {
    await using _ = await again()
    for (const { transport } of [prompt, late]) await createClient(SessionService, transport).getSession({})
  }
  for (const client of [prompt, late]) await fail(client)
  assert.deepEqual(prompt.levels, ['info', 'info', 'error'])
  assert.deepEqual(late.levels, ['info', 'error', 'warn', 'error'])
  const away = `The session service cannot be reached at ${first.url}: ECONNREFUSED; see PORTICO_SESSION_URL`
  assert.deepEqual(late.seen, [away, away, `The session service responds at ${first.url}`, away])
})

test('a peer that only streams use is one line when it is away and one when it is back, at every outage', async () => {
  const first = await serveSession()
  const port = Number(new URL(first.url).port)
  await using client = caller('session', first.url)
  const session = createClient(SessionService, client.transport)
  const next = (position: string) => session.streamEvents({ position })[Symbol.asyncIterator]().next()
  await next('1')
  await first[Symbol.asyncDispose]()
  const away = `The session service cannot be reached at ${first.url}: ECONNREFUSED; see PORTICO_SESSION_URL`
  const back = `The session service responds at ${first.url}`
  // A stream that ends well without a message is an answer, too.
  for (const position of ['1', '']) {
    client.seen.length = 0
    await failTimes(2, () => next(position))
    assert.deepEqual(client.seen, [away])
    await using _ = await serveSession(port)
    for (let i = 0; i < 2; i++) await next(position)
    assert.deepEqual(client.seen, [away, back])
  }
})

test('an address of a server of another protocol is one line that names the setting', async () => {
  const other = createServer((_, response) => response.end('hello')).listen(0, '127.0.0.1')
  await once(other, 'listening')
  const url = `http://127.0.0.1:${(other.address() as AddressInfo).port}`
  await using client = caller('session', url)
  await failTimes(2, () => createClient(SessionService, client.transport).getSession({}))
  assert.equal(client.seen.length, 1)
  assert.match(client.seen[0] ?? '', /cannot be reached at http.*; see PORTICO_SESSION_URL$/)
  other.closeAllConnections()
  other.close()
})

test('an address of another service is one line on each side that names the setting', async () => {
  await using server = await serveSession()
  await using client = caller('identity', server.url)
  await failTimes(3, () => createClient(IdentityService, client.transport).checkApiKey({}))
  assert.deepEqual(client.seen, [
    `The server at ${server.url} is not the identity service, or has another version; see PORTICO_IDENTITY_URL`,
  ])
  assert.deepEqual(server.seen, [
    "Calls for the identity service arrive here: the caller's PORTICO_IDENTITY_URL is wrong",
  ])
})

test('a wrong secret is one line on each side that names the setting, and never the secret', async () => {
  await using server = await serveSession()
  await using client = caller('session', server.url, { secret: 'another-secret-of-somebody' })
  const session = createClient(SessionService, client.transport)
  await failTimes(3, () => session.getSession({}))
  // A refused stream is open, but nobody has answered.
  for (let i = 0; i < 2; i++) {
    await failTimes(2, () => session.streamEvents({})[Symbol.asyncIterator]().next())
    await failTimes(1, () => session.getSession({}))
  }
  assert.deepEqual(client.seen, [
    `The session service at ${server.url} refuses the internal secret: its PORTICO_INTERNAL_SECRET is different`,
  ])
  assert.deepEqual(server.seen, ['Calls with another internal secret are refused; see PORTICO_INTERNAL_SECRET'])
})

test('a mistake of a caller is reported as over when it has not happened for a while', async () => {
  const { seen, logger } = lines()
  const complaint = new Complaint(logger, 'They do it', 10)
  complaint.happened()
  complaint.happened()
  await waitFor('the end', () => seen.length === 2)
  assert.deepEqual(seen, ['They do it', 'No more: They do it'])
  complaint.happened()
  assert.equal(seen.length, 3)
})

test('refuses an impossible address at the start, and names its setting', () => {
  const env = { PORTICO_INTERNAL_SECRET: testSecret, PORTICO_MONGODB_URI: 'mongodb://127.0.0.1' }
  for (const url of [
    'https://identity:4104',
    'http://identity:4104/api',
    'http://a:b@identity:4104',
    'identity:4104',
  ]) {
    const read = () => readServiceProcessConfig({ ...env, PORTICO_IDENTITY_URL: url }, 'inference', ['identity'])
    assert.throws(read, /PORTICO_IDENTITY_URL: must be http:\/\/host:port, without TLS and without a path/)
  }
  const good = { ...env, PORTICO_IDENTITY_URL: 'http://identity:4104/' }
  assert.equal(readServiceProcessConfig(good, 'inference', ['identity']).peers.identity, 'http://identity:4104')
})
