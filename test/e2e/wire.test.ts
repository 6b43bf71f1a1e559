import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdirSync, readdirSync, readlinkSync, realpathSync, writeFileSync } from 'node:fs'
import { type IncomingMessage, request } from 'node:http'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { readConfig } from '#services/identity/config.ts'
import { open as openIdentity } from '#services/identity/open.ts'
import { systemClock } from '#shared/clock.ts'
import { openStream, readUntil } from '#test/support/event-stream.ts'
import { dropDatabase, freshDatabaseName, mongoUri, skipWithoutMongo } from '#test/support/mongo.ts'
import { KEYS, scratchDirectory } from '#test/support/processes.ts'
import { type Product, type Setting, startSingle, startSplit } from '#test/support/product.ts'
import { type ProviderStub, startStub } from '#test/support/provider-stub.ts'
import { chunk } from '#test/support/responses.ts'
import { silentLogger } from '#test/support/transports.ts'
import { waitFor } from '#test/support/wait-until.ts'

const bearer = { authorization: `Bearer ${KEYS.api}` }

describe('the wire, in one process on SQLite', () => {
  const data = scratchDirectory()
  overTheWire(startSingle, { PORTICO_DATA_DIR: data.path })
  after(() => data[Symbol.dispose]())
})

describe('the wire, between five processes on MongoDB', { skip: skipWithoutMongo }, () => {
  const database = freshDatabaseName()
  const uri = mongoUri() ?? ''
  const store = { PORTICO_MONGODB_URI: uri, PORTICO_MONGODB_DATABASE: database }
  overTheWire((setting) => startSplit(uri, setting), store)
  after(() => dropDatabase(database))
})

function overTheWire(start: (setting: Setting) => Promise<Product>, store: Readonly<Record<string, string>>): void {
  const folder = scratchDirectory()
  const [project, outside] = ['project', 'outside'].map((name) => join(realpathSync(folder.path), name)) as [
    string,
    string,
  ]
  let stub: ProviderStub
  let setting: Setting
  let product: Product

  before(async () => {
    for (const directory of [project, outside]) mkdirSync(directory)
    // Begins an answer and never ends it.
    stub = await startStub((response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.write(chunk({ role: 'assistant', content: 'one ' }))
    })
    const config = join(folder.path, 'portico.json')
    const models = [{ id: 'slow' }]
    const provider = { id: 'upstream', protocol: 'openai', baseURL: `${stub.url}/v1`, models }
    writeFileSync(config, JSON.stringify({ providers: [provider], defaultModel: 'portico/echo' }))
    const environment = {
      ...store,
      PORTICO_AUTH: 'bearer',
      PORTICO_CONFIG: config,
      PORTICO_PROJECT_ROOTS: JSON.stringify({ [await firstWorkspace(store)]: [project] }),
    }
    setting = { dataDirectory: store.PORTICO_DATA_DIR ?? '', project, environment }
    product = await start(setting)
  })
  after(async () => {
    await product?.stop()
    await stub?.[Symbol.asyncDispose]()
    folder[Symbol.dispose]()
  })

  test('bearer: a workspace key works only below the roots of its workspace', async () => {
    assert.deepEqual(await call('GET', '/api/session', undefined, {}), [
      401,
      { _tag: 'UnauthorizedError', message: 'Authentication required' },
    ])
    assert.equal(
      (await call('GET', '/api/session', undefined, { authorization: 'Bearer sk-portico-outsider' }))[0],
      401,
    )
    const management = { authorization: `Bearer ${KEYS.management}` }
    assert.equal((await call('GET', '/api/session', undefined, management))[0], 403)
    assert.equal((await call('POST', '/api/session', { location: { directory: project } }))[0], 200)
    const [status, body] = await call('POST', '/api/session', { location: { directory: outside } })
    assert.deepEqual([status, (body as { _tag: string })._tag], [403, 'LocationPermissionDeniedError'])
  })

  test('refuses requests with the error body of the API family', async () => {
    const json = { ...bearer, 'content-type': 'application/json' }
    const cases: [status: number, method: string, path: string, headers: Record<string, string>, body?: string][] = [
      [404, 'GET', '/api/nothing', bearer],
      [405, 'DELETE', '/api/event', bearer],
      [400, 'POST', '/api/session', json, '{'],
      [413, 'POST', '/api/session', json, JSON.stringify({ title: 'x'.repeat(1_100_000) })],
      [415, 'POST', '/api/session', { ...bearer, 'content-type': 'text/plain' }, '{}'],
      [404, 'GET', '/api/v1/nothing', bearer],
      [405, 'GET', '/api/v1/responses', bearer],
      [400, 'POST', '/api/v1/responses', json, '{'],
      [
        413,
        'POST',
        '/api/v1/responses',
        json,
        JSON.stringify({ model: 'portico/echo', input: 'x'.repeat(40_000_000) }),
      ],
      [415, 'POST', '/api/v1/responses', { ...bearer, 'content-type': 'text/plain' }, '{}'],
    ]
    for (const [status, method, path, headers, body] of cases) {
      const answer = await fetch(product.url + path, { method, headers, ...(body === undefined ? {} : { body }) })
      assert.equal(answer.status, status, `${method} ${path}`)
      const failure = (await answer.json()) as { _tag?: string; error?: { code: unknown; message: string } }
      if (path.startsWith('/api/v1')) assert.equal(failure.error?.code, status, `${method} ${path}`)
      else assert.match(failure._tag ?? '', /Error$/, `${method} ${path}`)
    }
  })

  test('a client that hangs up in the middle of a stream aborts the call of the provider', async () => {
    const hangUps = stub.hangUps
    const stream = await post('/api/v1/responses', { model: 'upstream/slow', input: 'Hello', stream: true })
    await readUntil(stream, (text) => text.includes('one '))
    stream.destroy()
    await waitFor('the provider to see it', () => stub.hangUps === hangUps + 1)
  })

  test('a run that is interrupted aborts the call of the provider', async () => {
    const hangUps = stub.hangUps
    const seen = stub.seen.length
    const model = { providerID: 'upstream', id: 'slow' }
    // With a title: generating one would call the provider, too, and hang up when its own time is up.
    const [, body] = await call('POST', '/api/session', { model, title: 'Slow' })
    const { id } = (body as { data: { id: string } }).data
    await call('POST', `/api/session/${id}/prompt`, { text: 'Hello' })
    await waitFor('the provider to be asked', () => stub.seen.length > seen)
    await call('POST', `/api/session/${id}/interrupt`)
    await waitFor('the provider to see it', () => stub.hangUps === hangUps + 1)
    assert.equal((await call('POST', `/api/session/${id}/wait`))[0], 204)
  })

  test('an event stream whose client hangs up leaves no connection open', { skip: noProc() }, async () => {
    await call('GET', '/api/session')
    const before = sockets(product)
    for (let i = 0; i < 20; i++) {
      const stream = await openStream(`${product.url}/api/event`, bearer)
      await readUntil(stream, (text) => text.includes('server.connected'))
      stream.destroy()
    }
    await waitFor('the connections to be closed', () => sockets(product) <= before)
  })

  test('a client that reconnects with Last-Event-ID after a restart misses no event and gets none twice', async () => {
    const begin = await openStream(`${product.url}/api/event`, bearer)
    await run('/length 2')
    const first = idsIn(await readUntil(begin, (text) => text.includes('session.execution.succeeded')))
    begin.destroy()
    const left = first[Math.floor(first.length / 2)] ?? assert.fail('no event has an id')
    await run('/length 2')
    await product.stop()
    product = await start(setting)
    const last = await run('/length 2')
    const ended = (text: string) =>
      text.includes('"session.execution.succeeded"') && new RegExp(`execution.succeeded.*${last}`).test(text)
    const since = await openStream(`${product.url}/api/event`, { ...bearer, 'last-event-id': left })
    // The first id of a stream is its position at the start, that of server.connected.
    const [stood, ...later] = idsIn(await readUntil(since, ended))
    assert.equal(stood, left)
    since.destroy()
    const all = await openStream(`${product.url}/api/event?after=${encodeURIComponent(first[0] ?? '')}`, bearer)
    const whole = idsIn(await readUntil(all, ended)).slice(1)
    all.destroy()
    const upToLeft = first.slice(1, first.indexOf(left) + 1)
    assert.deepEqual([...upToLeft, ...later], whole)
    assert.equal(new Set(whole).size, whole.length)
    assert.ok(whole.length > 2 * first.length)
  })

  async function run(text: string): Promise<string> {
    const [, body] = await call('POST', '/api/session', {})
    const { id } = (body as { data: { id: string } }).data
    assert.equal((await call('POST', `/api/session/${id}/prompt`, { text }))[0], 200)
    assert.equal((await call('POST', `/api/session/${id}/wait`))[0], 204)
    return id
  }

  async function call(
    method: string,
    path: string,
    body?: unknown,
    headers: Record<string, string> = bearer,
  ): Promise<[number, unknown]> {
    const json = body === undefined ? {} : { 'content-type': 'application/json' }
    const init = {
      method,
      headers: { ...headers, ...json },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    }
    const answer = await fetch(product.url + path, init)
    const text = await answer.text()
    return [answer.status, text === '' ? undefined : JSON.parse(text)]
  }

  async function post(path: string, body: unknown): Promise<IncomingMessage> {
    const outgoing = request(product.url + path, {
      method: 'POST',
      headers: { ...bearer, 'content-type': 'application/json' },
    })
    outgoing.end(JSON.stringify(body))
    const [answer] = (await once(outgoing, 'response')) as [IncomingMessage]
    return answer
  }
}

/** Starts the identity service briefly, with the keys of the tests, to learn the name of the first workspace. */
async function firstWorkspace(store: Readonly<Record<string, string>>): Promise<string> {
  const keys = { PORTICO_BOOTSTRAP_API_KEY: KEYS.api, PORTICO_BOOTSTRAP_MANAGEMENT_KEY: KEYS.management }
  await using identity = await openIdentity(readConfig({ ...store, ...keys }), {
    clock: systemClock,
    logger: silentLogger,
  })
  return identity.bootstrap.workspaceId
}

function idsIn(text: string): string[] {
  return [...text.matchAll(/^id: (.+)$/gm)].map(([, id]) => id ?? '')
}

function noProc(): string | false {
  return process.platform === 'linux' ? false : 'needs /proc'
}

/** The number of sockets of the process that serves HTTP; the stores of the others keep connections for later. */
function sockets({ pids }: Product): number {
  const folder = `/proc/${pids()[0]}/fd`
  return readdirSync(folder).filter((name) => link(join(folder, name)).startsWith('socket:')).length
}

function link(path: string): string {
  try {
    return readlinkSync(path)
  } catch {
    return ''
  }
}
