import assert from 'node:assert/strict'
import test from 'node:test'
import { Code, ConnectError } from '@connectrpc/connect'
import pino from 'pino'
import { readConfig } from '#gateway/config.ts'
import { listen } from '#gateway/listen.ts'
import { Rejection } from '#shared/rejection.ts'
import { openFacade, type Stubs } from '#test/support/facade.ts'
import { openPortico } from '#test/support/portico.ts'

const well: Stubs = {
  reasons: { LOCATION_FORBIDDEN: { code: Code.PermissionDenied, message: 'M' } },
  identity: { checkApiKey: () => ({}) },
  catalog: {
    resolveLocation: () => {
      throw new Rejection('LOCATION_FORBIDDEN')
    },
  },
  session: { listActiveSessions: () => ({}) },
  inference: { listModels: () => ({}) },
}

test('it is ready when every service answers, a refusal included', async () => {
  await using facade = await openFacade(well, { PORTICO_AUTH: 'bearer' })
  const live = await facade.fetch('/livez')
  assert.deepEqual([live.status, await live.json()], [200, { status: 'alive' }])
  const ready = await facade.fetch('/readyz')
  assert.equal(ready.status, 200)
  const services = { identity: 'ready', catalog: 'ready', session: 'ready', inference: 'ready' }
  assert.deepEqual(await ready.json(), { status: 'ready', services })
})

test('it is not ready when a service is gone or its store fails', async () => {
  await using facade = await openFacade({
    ...well,
    session: {
      listActiveSessions: () => {
        throw new ConnectError('x', Code.Unavailable)
      },
    },
    inference: {
      listModels: () => {
        throw new Error('disk is full')
      },
    },
  })
  const ready = await facade.fetch('/readyz')
  assert.equal(ready.status, 503)
  assert.match(ready.headers.get('retry-after') ?? '', /^\d+$/)
  const services = { identity: 'ready', catalog: 'ready', session: 'unavailable', inference: 'unavailable' }
  assert.deepEqual(await ready.json(), { status: 'unavailable', services })
})

test('a server that is still starting refuses in the family of the path, and never hangs', async () => {
  await using listener = await listen(readConfig({ PORTICO_PORT: '0' }), pino({ level: 'silent' }))
  const get = async (path: string) => {
    const answer = await fetch(`${listener.url}${path}`)
    return [answer.status, await answer.json()]
  }
  const message = 'The server is starting'
  assert.deepEqual(await get('/livez'), [200, { status: 'alive' }])
  assert.deepEqual(await get('/readyz'), [503, { status: 'starting' }])
  assert.deepEqual(await get('/api/info'), [503, { _tag: 'ServiceUnavailableError', message }])
  assert.deepEqual(await get('/api/v1/responses'), [503, { error: { code: 503, message } }])
})

test('a server that was told to stop says so, and closes each connection with its answer, but still answers', async () => {
  const entered = Promise.withResolvers<void>()
  const release = Promise.withResolvers<void>()
  await using facade = await openFacade({
    ...well,
    session: {
      ...well.session,
      getSession: async ({ sessionId }) => {
        entered.resolve()
        await release.promise
        return { session: { sessionId } }
      },
    },
  })
  const before = facade.fetch('/api/session/ses_1')
  await entered.promise
  facade.listener.unready()
  const ready = await facade.fetch('/readyz')
  assert.deepEqual([ready.status, await ready.json()], [503, { status: 'draining' }])
  const after = facade.fetch('/api/session/active')
  release.resolve()
  for (const answer of [ready, await before, await after]) assert.equal(answer.headers.get('connection'), 'close')
  assert.deepEqual([(await before).status, (await after).status], [200, 200])
  await facade.listener.drain(3_600_000)
  await assert.rejects(facade.fetch('/livez'))
})

test('a server that stops lets a request end, and is not ready meanwhile', async () => {
  const entered = Promise.withResolvers<void>()
  const release = Promise.withResolvers<void>()
  const facade = await openFacade({
    ...well,
    session: {
      getSession: async ({ sessionId }) => {
        entered.resolve()
        await release.promise
        return { session: { sessionId } }
      },
    },
  })
  const answer = facade.fetch('/api/session/ses_1')
  await entered.promise
  const closed = facade[Symbol.asyncDispose]()
  assert.equal(facade.listener.lifecycle.state, 'draining')
  release.resolve()
  assert.equal((await answer).status, 200)
  await closed
})

test('a server that stops cuts off what does not end in time', async () => {
  const entered = Promise.withResolvers<void>()
  const aborted = Promise.withResolvers<void>()
  const facade = await openFacade(
    {
      session: {
        getSession: (_, context) => {
          entered.resolve()
          context.signal.addEventListener('abort', () => aborted.resolve())
          return new Promise(() => {})
        },
      },
    },
    { PORTICO_DRAIN_SECONDS: '0' },
  )
  const answer = facade.fetch('/api/session/ses_1').then(
    () => 'answered',
    () => 'cut',
  )
  await entered.promise
  await facade[Symbol.asyncDispose]()
  assert.equal(await answer, 'cut')
  await aborted.promise
})

test('the whole product is ready', async () => {
  await using portico = await openPortico()
  const ready = await portico.fetch('/readyz')
  assert.equal(ready.status, 200)
  const services = { identity: 'ready', catalog: 'ready', session: 'ready', inference: 'ready' }
  assert.deepEqual(await ready.json(), { status: 'ready', services })
})
