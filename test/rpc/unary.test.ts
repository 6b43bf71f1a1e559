import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Code, ConnectError } from '@connectrpc/connect'
import { SessionService } from '#gen/portico/session/v1/session_service_pb.js'
import { systemClock } from '#shared/clock.ts'
import { reasonOf } from '#shared/reasons.ts'
import { type AnyReason, Rejection } from '#shared/rejection.ts'
import { callContextKey, callOptions, NO_DEADLINE, type Principal, principalOf } from '#shared/rpc/call-context.ts'
import { createClient } from '#shared/rpc/client.ts'
import { StoreWatch } from '#shared/stores/store-watch.ts'
import { storeTimeLeft } from '#shared/telemetry/request-scope.ts'
import { forEachTransport, silentLogger } from '#test/support/transports.ts'
import { gate, probe } from './probe.ts'

const principal: Principal = {
  organizationId: 'org_1',
  workspaceId: 'wrk_1',
  apiKeyId: '',
  kind: 'local-operator',
}

async function failureOf(promise: Promise<unknown>): Promise<ConnectError> {
  const error = await promise.then(
    () => assert.fail('the call succeeded'),
    (thrown: unknown) => thrown,
  )
  assert.ok(error instanceof ConnectError, String(error))
  return error
}

forEachTransport((name, connect) => {
  test(`${name}: the store calls of one handler share a time limit, and each call has its own`, async () => {
    const options = { name: 'session', clock: systemClock, logger: silentLogger, probeMs: 1_000_000 }
    using watch = new StoreWatch({ ...options, probe: async () => {}, problemOf: () => undefined, limitMs: 1_000_000 })
    await using connection = await connect(
      probe({
        async getSession() {
          const full = storeTimeLeft(1_000_000) === 1_000_000
          await watch.follow(new Promise((resolve) => setTimeout(resolve, 20)), { limited: true, writes: false })
          return { session: { title: `${full}, then less: ${storeTimeLeft(1_000_000) < 1_000_000}` } }
        },
      }),
    )
    const client = createClient(SessionService, connection.transport)
    for (let i = 0; i < 2; i++) {
      const { session } = await client.getSession({ sessionId: 'ses_1' })
      assert.equal(session?.title, 'true, then less: true')
    }
  })

  test(`${name}: a unary call brings the request to the handler and its answer back`, async () => {
    await using connection = await connect(
      probe({ getSession: ({ sessionId }) => ({ session: { sessionId: sessionId, title: 'a title' } }) }),
    )
    const { session } = await createClient(SessionService, connection.transport).getSession({ sessionId: 'ses_1' })
    assert.equal(session?.sessionId, 'ses_1')
    assert.equal(session.title, 'a title')
  })

  test(`${name}: a rejection arrives with its code, message, reason, domain and metadata`, async () => {
    await using connection = await connect(
      probe({
        async getSession({ sessionId }) {
          throw new Rejection('SESSION_NOT_FOUND', { sessionId })
        },
      }),
    )
    const client = createClient(SessionService, connection.transport)
    const error = await failureOf(client.getSession({ sessionId: 'ses_ü' }))
    assert.equal(error.code, Code.NotFound)
    assert.deepEqual(reasonOf(error), {
      domain: 'session',
      reason: 'SESSION_NOT_FOUND',
      metadata: { sessionId: 'ses_ü' },
      message: 'Session ses_ü not found',
    })
  })

  test(`${name}: an unplanned error reaches the caller as INTERNAL that reveals nothing`, async () => {
    await using connection = await connect(
      probe({
        getSession: () => {
          throw new TypeError('password hunter2 of undefined')
        },
        async listSessions() {
          throw new Rejection('NOT_IN_THE_TABLE' as AnyReason, { a: 'hunter2' })
        },
      }),
    )
    const client = createClient(SessionService, connection.transport)
    for (const call of [client.getSession({}), client.listSessions({})]) {
      const error = await failureOf(call)
      assert.equal(error.code, Code.Internal)
      assert.equal(error.rawMessage, 'Internal error')
      assert.deepEqual(error.details, [])
    }
  })

  test(`${name}: a reason of another service passes through unchanged`, async () => {
    await using inner = await connect({
      ...probe({
        getSession: () => {
          throw new Rejection('SESSION_NOT_FOUND', { sessionId: 'ses_1' })
        },
      }),
      domain: 'inner',
    })
    const peer = createClient(SessionService, inner.transport)
    await using outer = await connect(probe({ getSession: (request) => peer.getSession(request) }))
    const error = await failureOf(createClient(SessionService, outer.transport).getSession({}))
    assert.equal(error.code, Code.NotFound)
    assert.equal(reasonOf(error)?.domain, 'inner')
  })

  test(`${name}: principal and request id arrive, and a call without a principal is refused`, async () => {
    const seen: unknown[] = []
    await using connection = await connect(
      probe({
        getSession: (_, context) => {
          seen.push(principalOf(context), context.values.get(callContextKey).requestId)
          return {}
        },
      }),
    )
    const client = createClient(SessionService, connection.transport)
    await client.getSession({}, callOptions({ principal, requestId: 'req_1 ü' }))
    assert.deepEqual(seen, [principal, 'req_1 ü'])
    const error = await failureOf(client.getSession({}))
    assert.equal(error.code, Code.Unauthenticated)
    assert.equal(reasonOf(error)?.reason, 'PRINCIPAL_MISSING')
  })

  test(`${name}: a call that outlives its deadline fails, and its handler's signal fires`, async () => {
    const aborted = gate()
    const release = gate()
    await using connection = await connect(
      probe({
        async getSession(_, { signal, timeoutMs }) {
          assert.ok((timeoutMs() ?? 0) > 0)
          signal.addEventListener('abort', () => aborted.resolve())
          await release.promise
          return {}
        },
        listSessions: () => ({}),
      }),
    )
    const client = createClient(SessionService, connection.transport)
    // Connects, so that the next call reaches the handler before its deadline.
    await client.listSessions({})
    assert.equal(
      (await failureOf(client.getSession({}, callOptions({}, { timeoutMs: 2_000 })))).code,
      Code.DeadlineExceeded,
    )
    await aborted.promise
    release.resolve()
  })

  test(`${name}: a call has a deadline unless its caller wants none`, async () => {
    const seen: (number | undefined)[] = []
    await using connection = await connect(
      probe({
        getSession: (_, { timeoutMs }) => {
          seen.push(timeoutMs())
          return {}
        },
      }),
    )
    const client = createClient(SessionService, connection.transport)
    await client.getSession({}, callOptions({}))
    await client.getSession({}, callOptions({}, { timeoutMs: NO_DEADLINE }))
    assert.deepEqual([typeof seen[0], seen[1]], ['number', undefined])
  })

  test(`${name}: a call aborted before it starts never reaches the handler`, async () => {
    const called: string[] = []
    await using connection = await connect(
      probe({
        getSession: ({ sessionId }) => {
          called.push(sessionId)
          return {}
        },
      }),
    )
    const client = createClient(SessionService, connection.transport)
    const aborted = callOptions({}, { signal: AbortSignal.abort() })
    assert.equal((await failureOf(client.getSession({ sessionId: 'ses_a' }, aborted))).code, Code.Canceled)
    // Calls arrive in the order in which they are sent.
    await client.getSession({ sessionId: 'ses_b' })
    assert.deepEqual(called, ['ses_b'])
  })

  test(`${name}: a call aborted half-way fails at once, and its handler's signal fires`, async () => {
    const started = gate()
    const aborted = gate()
    const release = gate()
    await using connection = await connect(
      probe({
        async getSession(_, { signal }) {
          signal.addEventListener('abort', () => aborted.resolve())
          started.resolve()
          await release.promise
          return {}
        },
      }),
    )
    const controller = new AbortController()
    const call = createClient(SessionService, connection.transport).getSession({}, { signal: controller.signal })
    await started.promise
    controller.abort()
    assert.equal((await failureOf(call)).code, Code.Canceled)
    await aborted.promise
    release.resolve()
  })

  test(`${name}: a deadline or an abort ends a call whose handler ignores its signal`, async () => {
    const { promise, resolve } = gate()
    await using connection = await connect(probe({ getSession: () => promise.then(() => ({})) }))
    const client = createClient(SessionService, connection.transport)
    const late = await failureOf(client.getSession({}, callOptions({}, { timeoutMs: 50 })))
    assert.equal(late.code, Code.DeadlineExceeded)
    const controller = new AbortController()
    const atOnce = failureOf(client.getSession({}, callOptions({}, { signal: controller.signal })))
    controller.abort() // In the turn in which the call began.
    assert.equal((await atOnce).code, Code.Canceled)
    const soon = AbortSignal.timeout(20)
    assert.equal((await failureOf(client.getSession({}, callOptions({}, { signal: soon })))).code, Code.Canceled)
    resolve()
  })

  test(`${name}: the signal of a handler fires after its answer, so that work it left behind ends`, async () => {
    const aborted = gate()
    await using connection = await connect(
      probe({
        getSession: (_, { signal }) => {
          signal.addEventListener('abort', () => aborted.resolve())
          return {}
        },
      }),
    )
    await createClient(SessionService, connection.transport).getSession({})
    await aborted.promise
  })

  test(`${name}: messages of 20 MiB pass both ways`, async () => {
    const text = 'x'.repeat(20 * 1024 * 1024)
    await using connection = await connect(
      probe({
        promptSession: (request) => {
          assert.equal(request.text.length, text.length)
          return {}
        },
        getSession: () => ({ session: { title: text } }),
      }),
    )
    const client = createClient(SessionService, connection.transport)
    await client.promptSession({ text })
    assert.equal((await client.getSession({})).session?.title?.length, text.length)
  })

  test(`${name}: ten messages of 8 MiB at once, both ways, leave room for small ones`, async () => {
    const text = 'x'.repeat(8 * 1024 * 1024)
    await using connection = await connect(
      probe({
        getSession: ({ sessionId }) => ({ session: { title: sessionId === 'big' ? text : 'small' } }),
        promptSession: () => ({}),
      }),
    )
    const client = createClient(SessionService, connection.transport)
    const calls = Array.from({ length: 10 }, () => [
      client.promptSession({ text }),
      client.getSession({ sessionId: 'big' }),
      client.getSession({ sessionId: 'small' }),
    ])
    await Promise.all(calls.flat())
  })

  test(`${name}: a method without a handler is UNIMPLEMENTED`, async () => {
    await using connection = await connect(probe({}))
    const error = await failureOf(createClient(SessionService, connection.transport).getSession({}))
    assert.equal(error.code, Code.Unimplemented)
  })

  test(`${name}: 200 calls at once do not disturb one another`, async () => {
    await using connection = await connect(
      probe({
        async getSession({ sessionId }, context) {
          await new Promise(setImmediate)
          return { session: { sessionId: sessionId, title: context.values.get(callContextKey).requestId ?? '' } }
        },
      }),
    )
    const client = createClient(SessionService, connection.transport)
    const calls = Array.from({ length: 200 }, async (_, index) => {
      const { session } = await client.getSession(
        { sessionId: `ses_${index}` },
        callOptions({ requestId: `req_${index}` }),
      )
      assert.deepEqual([session?.sessionId, session?.title], [`ses_${index}`, `req_${index}`])
    })
    await Promise.all(calls)
  })
})
