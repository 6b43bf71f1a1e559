import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Health, HealthCheckResponse_ServingStatus as Status } from '#gen/grpc/health/v1/health_pb.js'
import { createClient } from '#shared/rpc/client.ts'
import type { StoreState } from '#shared/stores/store-health.ts'
import { probe } from './probe.ts'
import { dial, serveRoutes } from './server.ts'

test('a service whose store cannot be written is NOT_SERVING until it can, and watchers are notified of both', async () => {
  let state: StoreState = { ok: true }
  const listeners = new Set<() => void>()
  const become = (next: StoreState): void => {
    state = next
    for (const listener of [...listeners]) listener()
  }
  const onChange = (listener: () => void): Disposable => {
    listeners.add(listener)
    return { [Symbol.dispose]: () => void listeners.delete(listener) }
  }
  await using server = await serveRoutes({ ...probe({}), store: { state: () => state, onChange } })
  await using transport = dial(server)
  const client = createClient(Health, transport)
  const names = ['', 'portico.session.v1.SessionService']
  const statuses = () => Promise.all(names.map(async (service) => (await client.check({ service })).status))
  assert.deepEqual(await statuses(), [Status.SERVING, Status.SERVING])
  const watch = client.watch({ service: 'portico.session.v1.SessionService' })[Symbol.asyncIterator]()
  assert.equal((await watch.next()).value?.status, Status.SERVING)

  become({ ok: false, kind: 'full' })
  assert.equal((await watch.next()).value?.status, Status.NOT_SERVING)
  assert.deepEqual(await statuses(), [Status.NOT_SERVING, Status.NOT_SERVING])

  become({ ok: true })
  assert.equal((await watch.next()).value?.status, Status.SERVING)
  assert.deepEqual(await statuses(), [Status.SERVING, Status.SERVING])
  await watch.return?.()
})
