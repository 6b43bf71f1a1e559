import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Code, ConnectError } from '@connectrpc/connect'
import { SessionService } from '#gen/portico/session/v1/session_service_pb.js'
import { type AnyReason, Rejection } from '#shared/rejection.ts'
import { createClient } from '#shared/rpc/client.ts'
import { startProxy } from '#test/support/tcp-proxy.ts'
import { event, probe } from './probe.ts'
import { dial, serveRoutes } from './server.ts'

const hasCode = (code: Code) => (error: unknown) => error instanceof ConnectError && error.code === code

/** Handlers that fail with UNAVAILABLE until they have been called often enough. */
function flaky(failures: number) {
  const state = { calls: 0 }
  const attempt = () => {
    state.calls += 1
    if (state.calls <= failures) throw new ConnectError('not yet', Code.Unavailable)
    return {}
  }
  const routes = probe({
    getSession: attempt,
    createSession: attempt,
    replyPermissionRequest: attempt,
    interruptSession: attempt,
    async *streamEvents() {
      yield event(1)
      attempt()
    },
  })
  return { state, routes }
}

test('repeats a call without side effects, or an idempotent one, while the service is unavailable', async () => {
  for (const method of ['getSession', 'createSession'] as const) {
    const { state, routes } = flaky(3)
    await using server = await serveRoutes(routes)
    await using transport = dial(server)
    await createClient(SessionService, transport)[method]({})
    assert.equal(state.calls, 4)
  }
})

test('fails a call after four tries', async () => {
  const { state, routes } = flaky(9)
  await using server = await serveRoutes(routes)
  await using transport = dial(server)
  await assert.rejects(createClient(SessionService, transport).getSession({}), hasCode(Code.Unavailable))
  assert.equal(state.calls, 4)
})

test('repeats neither a call with side effects nor a stream that has begun', async () => {
  const { state, routes } = flaky(9)
  await using server = await serveRoutes(routes)
  await using transport = dial(server)
  const client = createClient(SessionService, transport)
  await assert.rejects(client.replyPermissionRequest({}), hasCode(Code.Unavailable))
  assert.equal(state.calls, 1)
  await assert.rejects(client.interruptSession({}), hasCode(Code.Unavailable))
  assert.equal(state.calls, 2)
  const stream = client.streamEvents({})[Symbol.asyncIterator]()
  await stream.next()
  await assert.rejects(stream.next(), hasCode(Code.Unavailable))
  assert.equal(state.calls, 3)
})

test('does not repeat a call if the service gives the reason why it is unavailable', async () => {
  let calls = 0
  const routes = probe({
    getSession: () => {
      calls += 1
      throw new Rejection('STORE_AWAY' as AnyReason)
    },
  })
  const reasons = { ...routes.reasons, STORE_AWAY: { code: Code.Unavailable, message: 'The store is unavailable' } }
  await using server = await serveRoutes({ ...routes, reasons })
  await using transport = dial(server)
  await assert.rejects(createClient(SessionService, transport).getSession({}), hasCode(Code.Unavailable))
  assert.equal(calls, 1)
})

test('ends each attempt at the deadline of the call', async () => {
  const { routes } = flaky(Number.POSITIVE_INFINITY)
  await using server = await serveRoutes(routes)
  await using transport = dial(server)
  const call = createClient(SessionService, transport).getSession({}, { timeoutMs: 1 })
  await assert.rejects(call, (error) => hasCode(Code.DeadlineExceeded)(error) || hasCode(Code.Unavailable)(error))
})

test('a call to a peer that does not run is UNAVAILABLE', async () => {
  const server = await serveRoutes(probe({}))
  await server[Symbol.asyncDispose]()
  await using transport = dial(server)
  const client = createClient(SessionService, transport)
  await assert.rejects(client.replyPermissionRequest({}), hasCode(Code.Unavailable))
  await assert.rejects(client.streamEvents({})[Symbol.asyncIterator]().next(), hasCode(Code.Unavailable))
})

test('connects again after a restart of its peer', async () => {
  const routes = probe({ replyPermissionRequest: () => ({}) })
  const first = await serveRoutes(routes)
  await using transport = dial(first)
  const client = createClient(SessionService, transport)
  await client.replyPermissionRequest({})
  await first[Symbol.asyncDispose]()
  await assert.rejects(client.replyPermissionRequest({}), hasCode(Code.Unavailable))
  await using _second = await serveRoutes(routes, { port: Number(new URL(first.url).port) })
  await client.replyPermissionRequest({})
})

test('refuses a message above 64 MiB in both directions', async () => {
  const text = 'x'.repeat(65 * 1024 * 1024)
  await using server = await serveRoutes(
    probe({
      promptSession: () => ({}),
      replyPermissionRequest: () => ({}),
      getSession: () => ({ session: { title: text } }),
    }),
  )
  await using transport = dial(server)
  const client = createClient(SessionService, transport)
  await assert.rejects(client.promptSession({ text }), hasCode(Code.ResourceExhausted))
  await assert.rejects(client.getSession({}), hasCode(Code.ResourceExhausted))
  await client.replyPermissionRequest({})
})

test('opens no connection after its disposal, neither for a repeated call nor for a new one', async () => {
  const entered = Promise.withResolvers<void>()
  const routes = probe({
    getSession: (_, { signal }) => {
      entered.resolve()
      return new Promise((_, reject) => signal.addEventListener('abort', reject))
    },
  })
  await using server = await serveRoutes(routes)
  await using proxy = await startProxy(server.url)
  const transport = dial(proxy)
  const client = createClient(SessionService, transport)
  const call = client.getSession({})
  await entered.promise
  await transport[Symbol.asyncDispose]()
  await assert.rejects(call, hasCode(Code.Unavailable))
  await assert.rejects(client.getSession({}), hasCode(Code.Unavailable))
  assert.equal(proxy.connections, 1)
})
