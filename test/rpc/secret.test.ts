import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Code, ConnectError } from '@connectrpc/connect'
import { Health, HealthCheckResponse_ServingStatus as Status } from '#gen/grpc/health/v1/health_pb.js'
import { SessionService } from '#gen/portico/session/v1/session_service_pb.js'
import { createClient } from '#shared/rpc/client.ts'
import { probe } from './probe.ts'
import { dial, serveRoutes } from './server.ts'

const isUnauthenticated = (error: unknown) => error instanceof ConnectError && error.code === Code.Unauthenticated

for (const secret of ['', 'secret-of-the-test', 'secret-of-the-tests2', 'SECRET-OF-THE-TESTS']) {
  test(`a call with the secret ${JSON.stringify(secret)} is refused before its handler runs`, async () => {
    let called = false
    const touch = () => {
      called = true
      return {}
    }
    await using server = await serveRoutes(
      probe({
        getSession: touch,
        async *streamEvents() {
          yield touch()
        },
      }),
    )
    await using transport = dial(server, secret)
    const client = createClient(SessionService, transport)
    await assert.rejects(client.getSession({}), isUnauthenticated)
    await assert.rejects(client.streamEvents({})[Symbol.asyncIterator]().next(), isUnauthenticated)
    assert.equal(called, false)
  })
}

test('health needs no secret, and knows each service and the process, and no others', async () => {
  await using server = await serveRoutes(probe({}))
  await using transport = dial(server, 'unknown')
  const health = createClient(Health, transport)
  assert.equal((await health.check({})).status, Status.SERVING)
  assert.equal((await health.check({ service: SessionService.typeName })).status, Status.SERVING)
  const { statuses } = await health.list({})
  assert.deepEqual(Object.keys(statuses).sort(), ['', SessionService.typeName])
  await assert.rejects(
    health.check({ service: 'portico.nothing.v1.Service' }),
    (error) => error instanceof ConnectError && error.code === Code.NotFound,
  )
})
