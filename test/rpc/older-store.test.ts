import assert from 'node:assert/strict'
import { test } from 'node:test'
import pino from 'pino'
import { Health, HealthCheckResponse_ServingStatus as Status } from '#gen/grpc/health/v1/health_pb.js'
import { SessionService } from '#gen/portico/session/v1/session_service_pb.js'
import { openWhenMigrated } from '#shared/process/open-when-migrated.ts'
import type { Server } from '#shared/process/serve.ts'
import { createClient } from '#shared/rpc/client.ts'
import { OlderStoreError } from '#shared/stores/schema-step.ts'
import { refusalOf } from '#test/support/rejects.ts'
import { dial, serveRoutes } from './server.ts'

test('a service whose store waits for its steps is not ready, refuses every call, says why once, and opens when they have been run', async () => {
  const lines: { msg: string; url: string }[] = []
  const logger = pino({ base: null }, { write: (line: string) => lines.push(JSON.parse(line)) })
  const serving = Promise.withResolvers<Server>()
  let older = true
  let tries = 0
  const opened = openWhenMigrated(
    async () => {
      tries++
      if (older) throw new OlderStoreError({ name: 'The store', setting: 'X' }, 'is old: run `npm run migrate`')
      return 'the service'
    },
    {
      name: 'session',
      services: [SessionService],
      logger,
      serve: async (routes) => {
        const server = await serveRoutes(routes)
        serving.resolve(server)
        return server
      },
    },
  )
  const server = await serving.promise
  await using transport = dial(server)
  const health = createClient(Health, transport)
  for (const service of ['', SessionService.typeName]) {
    assert.equal((await health.check({ service })).status, Status.NOT_SERVING)
  }
  const client = createClient(SessionService, transport)
  const stream = client.streamEvents({})[Symbol.asyncIterator]()
  for (const call of [() => client.getSession({}), () => client.promptSession({}), () => stream.next()]) {
    const { code, domain, reason } = await refusalOf(call())
    assert.deepEqual([code, domain, reason], ['Unavailable', 'session', 'STORE_UNAVAILABLE'])
  }
  while (tries < 3) await new Promise((resolve) => setImmediate(resolve))
  older = false
  assert.equal(await opened, 'the service')
  assert.deepEqual(
    lines.map(({ msg, url }) => [msg, url]),
    [['The store is old: run `npm run migrate`. Until then no request is served', server.url]],
  )
  await assert.rejects(health.check({ service: '' }))
})

test('any other error during the opening of a service is thrown', async () => {
  const failure = new Error('no disk')
  const serve = () => assert.fail('nothing is served')
  const options = { name: 'session', services: [SessionService], logger: pino({ level: 'silent' }), serve }
  await assert.rejects(
    openWhenMigrated(() => Promise.reject(failure), options),
    failure,
  )
})
