import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Code, ConnectError } from '@connectrpc/connect'
import { Health, HealthCheckResponse_ServingStatus as Status } from '#gen/grpc/health/v1/health_pb.js'
import { SessionService } from '#gen/portico/session/v1/session_service_pb.js'
import { callOptions, drainSignalOf } from '#shared/rpc/call-context.ts'
import { createClient } from '#shared/rpc/client.ts'
import { createLocalTransport } from '#shared/rpc/local-transport.ts'
import { closingReasons, serviceClosing } from '#shared/rpc/server-reasons.ts'
import { event, gate, numberOf, probe } from './probe.ts'
import { dial, serveRoutes } from './server.ts'

const isUnavailable = (error: unknown) => error instanceof ConnectError && error.code === Code.Unavailable

test('at shutdown a server lets calls finish, takes no new ones, and notifies the watchers of its health', async () => {
  const started = gate()
  const finish = gate()
  const server = await serveRoutes(
    probe({
      async promptSession() {
        started.resolve()
        await finish.promise
        return {}
      },
    }),
  )
  await using transport = dial(server)
  const client = createClient(SessionService, transport)
  const watch = createClient(Health, transport).watch({})[Symbol.asyncIterator]()
  assert.equal((await watch.next()).value?.status, Status.SERVING)
  const call = client.promptSession({})
  await started.promise

  const closed = server.drain(60_000)
  assert.equal((await watch.next()).value?.status, Status.NOT_SERVING)
  assert.equal((await watch.next()).done, true)
  await assert.rejects(client.replyPermissionRequest({}), isUnavailable)
  finish.resolve()
  await call
  await closed
})

test('the drain of a service aborts calls within the process, and does not change the context of their caller', async () => {
  const closing = new AbortController()
  const began = gate()
  const routes = probe({
    async promptSession(_, context) {
      began.resolve()
      const draining = drainSignalOf(context)
      await new Promise((_, reject) => draining.addEventListener('abort', () => reject(draining.reason)))
      return {}
    },
  })
  const client = createClient(
    SessionService,
    createLocalTransport({ ...routes, reasons: closingReasons, draining: closing.signal }),
  )
  const options = callOptions({ requestId: 'req_1' })
  const call = client.promptSession({}, options)
  await began.promise
  closing.abort(serviceClosing())
  await assert.rejects(call, isUnavailable)
  assert.equal(drainSignalOf({ values: options.contextValues ?? assert.fail() }).aborted, false)
})

test('a subscription ends when the server begins to drain; a generation goes on to its end', async () => {
  const more = gate()
  const server = await serveRoutes(
    probe({
      async *streamEvents({ position }, context) {
        yield event(1)
        if (position === 'generation') {
          await more.promise
          yield event(2)
          return
        }
        const draining = drainSignalOf(context)
        await new Promise((resolve) => draining.addEventListener('abort', resolve))
      },
    }),
  )
  await using transport = dial(server)
  const client = createClient(SessionService, transport)
  const subscription = client.streamEvents({})[Symbol.asyncIterator]()
  const generation = client.streamEvents({ position: 'generation' })[Symbol.asyncIterator]()
  await subscription.next()
  await generation.next()

  const closed = server.drain(60_000)
  assert.equal((await subscription.next()).done, true)
  more.resolve()
  assert.equal(numberOf((await generation.next()).value), 2)
  assert.equal((await generation.next()).done, true)
  await closed
})

test('aborts calls that are still open after the drain time, as UNAVAILABLE', async () => {
  const aborted = gate()
  const server = await serveRoutes(
    probe({
      async *streamEvents(_, { signal }) {
        yield event(1)
        await new Promise((resolve) => signal.addEventListener('abort', resolve))
        aborted.resolve()
        signal.throwIfAborted()
      },
    }),
  )
  await using transport = dial(server)
  const stream = createClient(SessionService, transport).streamEvents({})[Symbol.asyncIterator]()
  await stream.next()
  const closed = server.drain(10)
  await assert.rejects(stream.next(), isUnavailable)
  await aborted.promise
  await closed
})

test('cuts a handler off that ignores its signal; its caller fails as UNAVAILABLE', async () => {
  const started = gate()
  const never = gate()
  const server = await serveRoutes(
    probe({
      async promptSession() {
        started.resolve()
        await never.promise
        return {}
      },
    }),
  )
  await using transport = dial(server)
  const call = assert.rejects(createClient(SessionService, transport).replyPermissionRequest({}), ConnectError)
  await call
  const stuck = createClient(SessionService, transport).promptSession({}, { timeoutMs: 3_600_000 })
  const failed = assert.rejects(stuck, isUnavailable)
  await started.promise
  await server[Symbol.asyncDispose]()
  await failed
  never.resolve()
})
