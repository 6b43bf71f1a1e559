import assert from 'node:assert/strict'
import test from 'node:test'
import { Code, ConnectError } from '@connectrpc/connect'
import pino from 'pino'
import { readConfig } from '#gateway/config.ts'
import { listen } from '#gateway/http/listen.ts'
import { ownReadiness } from '#gateway/readiness.ts'
import { HealthCheckResponse_ServingStatus as Status } from '#gen/grpc/health/v1/health_pb.js'
import { CatalogService } from '#gen/portico/catalog/v1/catalog_service_pb.js'
import { IdentityService } from '#gen/portico/identity/v1/identity_service_pb.js'
import { SessionService } from '#gen/portico/session/v1/session_service_pb.js'
import type { ReasonTable } from '#shared/reasons.ts'
import { Rejection } from '#shared/rejection.ts'
import { callContextKey } from '#shared/rpc/call-context.ts'
import { openFacade, type Stubs } from '#test/support/facade.ts'
import { openPortico } from '#test/support/portico.ts'
import { stubSession } from '#test/support/stub-session.ts'

const well: Stubs = { identity: { checkApiKey: () => ({}) } }

test('is ready when every service answers', async () => {
  await using facade = await openFacade(well, { PORTICO_AUTH: 'bearer' })
  const live = await facade.fetch('/livez')
  assert.deepEqual([live.status, await live.json()], [200, { status: 'alive' }])
  const ready = await facade.fetch('/readyz')
  assert.equal(ready.status, 200)
  const services = { identity: 'ready', catalog: 'ready', session: 'ready', inference: 'ready' }
  assert.deepEqual(await ready.json(), { status: 'ready', services })
})

const away = () => {
  throw new ConnectError('x', Code.Unavailable)
}

test('is ready while it can authenticate, whatever the state of the other services, which it reports', async () => {
  const stubs: Stubs = {
    ...well,
    health: {
      check({ service }) {
        if (service === CatalogService.typeName) return away()
        // Its store is read-only.
        return { status: service === SessionService.typeName ? Status.NOT_SERVING : Status.SERVING }
      },
    },
  }
  await using facade = await openFacade(stubs)
  const ready = await facade.fetch('/readyz')
  assert.equal(ready.status, 200)
  const services = { identity: 'ready', catalog: 'unavailable', session: 'unavailable', inference: 'ready' }
  assert.deepEqual(await ready.json(), { status: 'ready', services })
})

const secretRefused = () => {
  throw new Rejection('SECRET_REFUSED')
}
const noPrincipal = () => {
  throw new Rejection('PRINCIPAL_MISSING')
}
const reasons: ReasonTable = {
  SECRET_REFUSED: { code: Code.Unauthenticated, message: 'M' },
  PRINCIPAL_MISSING: { code: Code.Unauthenticated, message: 'M' },
}
/** Health of a product in which identity reports that status, and the others that they serve. */
const identityIs = (status: () => Status): NonNullable<Stubs['health']> => ({
  check: ({ service }) => ({ status: service === IdentityService.typeName ? status() : Status.SERVING }),
})

test('is not ready when identity cannot be reached, does not accept its secret, or cannot use its store', async () => {
  for (const stubs of [
    { ...well, identity: { checkApiKey: away } },
    { ...well, health: identityIs(away) },
    { ...well, identity: { checkApiKey: secretRefused } },
    { identity: { checkApiKey: noPrincipal }, health: identityIs(() => Status.NOT_SERVING) },
  ]) {
    await using facade = await openFacade({ ...stubs, reasons })
    const ready = await facade.fetch('/readyz')
    assert.equal(ready.status, 503)
    assert.match(ready.headers.get('retry-after') ?? '', /^\d+$/)
    const services = { identity: 'unavailable', catalog: 'ready', session: 'ready', inference: 'ready' }
    const reason = 'identity or its store cannot be reached'
    assert.deepEqual(await ready.json(), { status: 'unavailable', reason, services })
  }
})

test('is not ready while the store of identity is away, and finds out without reading from it', async () => {
  let status = Status.SERVING
  const principals: unknown[] = []
  const identity: Stubs['identity'] = {
    checkApiKey(_, context) {
      principals.push(context.values.get(callContextKey).principal)
      return noPrincipal()
    },
  }
  await using facade = await openFacade({ reasons, identity, health: identityIs(() => status) })
  assert.equal((await facade.fetch('/readyz')).status, 200)
  for (const [now, expected] of [
    [Status.NOT_SERVING, 200],
    [Status.NOT_SERVING, 200],
    [Status.NOT_SERVING, 503],
    [Status.SERVING, 200],
  ] as const) {
    status = now
    await facade.readiness.look()
    assert.equal((await facade.fetch('/readyz')).status, expected)
  }
  assert.deepEqual(new Set(principals), new Set([undefined]))
})

test('the server is unready after three failures in a row and ready after one answer, and readiness never waits for a report', async () => {
  let next: 'answers' | 'fails' | 'hangs' = 'answers'
  const checkApiKey = () => (next === 'hangs' ? new Promise<never>(() => {}) : next === 'fails' ? away() : {})
  await using facade = await openFacade({ ...well, identity: { checkApiKey } })
  const status = async () => (await facade.fetch('/readyz')).status
  assert.equal(await status(), 200)
  for (const [what, expected] of [
    ['fails', 200],
    ['fails', 200],
    ['answers', 200],
    ['fails', 200],
    ['fails', 200],
    ['fails', 503],
    ['answers', 200],
  ] as const) {
    next = what
    await facade.readiness.look()
    assert.equal(await status(), expected)
  }
  next = 'hangs'
  const look = facade.readiness.look()
  assert.equal(await status(), 200)
  await look
  assert.equal(await status(), 200)
})

test('a process that holds the services is not ready when one of their stores cannot be written, and says why', async () => {
  const onChange = () => ({ [Symbol.dispose]: () => {} })
  const full = { state: () => ({ ok: false, kind: 'full' }) as const, onChange }
  const well = { state: () => ({ ok: true }) as const, onChange }
  const services = { identity: 'ready', catalog: 'ready', session: 'ready' }
  assert.deepEqual(await ownReadiness({ identity: well, catalog: undefined, session: well }).report(), {
    ready: true,
    services,
  })
  assert.deepEqual(await ownReadiness({ identity: well, catalog: undefined, session: full }).report(), {
    ready: false,
    reason: 'session: store full',
    services: { ...services, session: 'unavailable' },
  })
})

test('a server that is still starting refuses in the family of the path, and never hangs', async () => {
  await using listener = await listen(readConfig({ PORTICO_PORT: '0' }), pino({ level: 'silent' }))
  const get = async (path: string) => {
    const answer = await fetch(`${listener.url}${path}`)
    return [answer.status, await answer.json()]
  }
  const message = 'The server is starting or stopping'
  assert.deepEqual(await get('/livez'), [200, { status: 'alive' }])
  assert.deepEqual(await get('/readyz'), [503, { status: 'starting' }])
  assert.deepEqual(await get('/api/info'), [503, { _tag: 'ServiceUnavailableError', message, service: 'gateway' }])
  assert.deepEqual(await get('/api/v1/responses'), [503, { error: { code: 503, message } }])
  const unavailable = { error: 'temporarily_unavailable', error_description: message }
  assert.deepEqual(await get('/api/v1/oauth/token'), [503, unavailable])
})

test('a server that is stopping reports so, and closes each connection with its answer, but still answers', async () => {
  const entered = Promise.withResolvers<void>()
  const release = Promise.withResolvers<void>()
  await using facade = await openFacade({
    ...well,
    session: {
      listActiveSessions: () => ({}),
      getSession: async ({ sessionId }) => {
        entered.resolve()
        await release.promise
        return { session: stubSession({ sessionId }) }
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
        return { session: stubSession({ sessionId }) }
      },
    },
  })
  const answer = facade.fetch('/api/session/ses_1')
  await entered.promise
  const closed = facade.listener.drain(3_600_000)
  assert.equal(facade.listener.lifecycle.state, 'draining')
  release.resolve()
  assert.equal((await answer).status, 200)
  await closed
  await facade[Symbol.asyncDispose]()
})

test('a server that stops answers requests that do not end in time, and aborts them', async () => {
  const entered = Promise.withResolvers<void>()
  const aborted = Promise.withResolvers<void>()
  const facade = await openFacade({
    session: {
      getSession: (_, context) => {
        entered.resolve()
        context.signal.addEventListener('abort', () => aborted.resolve())
        return new Promise(() => {})
      },
    },
  })
  const answer = facade.fetch('/api/session/ses_1')
  await entered.promise
  await facade[Symbol.asyncDispose]()
  const { status, headers } = await answer
  assert.deepEqual([status, headers.get('retry-after'), headers.get('connection')], [503, '1', 'close'])
  await aborted.promise
})

test('the whole product is ready', async () => {
  await using portico = await openPortico()
  const ready = await portico.fetch('/readyz')
  assert.equal(ready.status, 200)
  const services = { identity: 'ready', catalog: 'ready', session: 'ready', inference: 'ready' }
  assert.deepEqual(await ready.json(), { status: 'ready', services })
})
