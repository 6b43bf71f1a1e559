import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Code, ConnectError } from '@connectrpc/connect'
import { Outcome } from '#gen/portico/session/v1/session_pb.js'
import { refusalOf } from '#test/support/rejects.ts'
import { openSessionRpc } from '#test/support/session-rpc.ts'
import { connectHttp2, forEachTransport } from '#test/support/transports.ts'

const sessionId = 'ses_a'

forEachTransport((name, connect) => {
  test(`an idle session is not waited for, even with a parked input (${name})`, async () => {
    await using service = await openSessionRpc(connect)
    await service.client.createSession({ sessionId }, service.as())
    await service.client.promptSession({ sessionId, messageId: 'msg_1', text: 'a', parked: true }, service.as())
    await service.client.waitSession({ sessionId }, service.as())
  })

  test(`a due session is waited for until its run has ended (${name})`, async () => {
    await using service = await openSessionRpc(connect)
    await service.client.createSession({ sessionId }, service.as())
    await service.client.promptSession({ sessionId, messageId: 'msg_1', text: 'a' }, service.as())
    const seen: string[] = []
    const waiting = service.client.waitSession({ sessionId }, service.as()).then(() => seen.push('idle'))
    const lease = await service.store.acquireLease('owner', 60_000)
    assert.ok(lease)
    await service.store.promote(lease, 'idle')
    seen.push('ran')
    await service.store.endRun(lease, Outcome.SUCCEEDED)
    await waiting
    assert.deepEqual(seen, ['ran', 'idle'])
  })

  test(`a caller that hangs up ends its wait (${name})`, async () => {
    await using service = await openSessionRpc(connect)
    await service.client.createSession({ sessionId }, service.as())
    await service.client.promptSession({ sessionId, messageId: 'msg_1', text: 'a' }, service.as())
    const gone = new AbortController()
    const waiting = service.client.waitSession({ sessionId }, { ...service.as(), signal: gone.signal })
    setImmediate(() => gone.abort())
    await assert.rejects(waiting, (error) => error instanceof ConnectError && error.code === Code.Canceled)
  })

  test(`in a damaged store, a call that waits for a due session is refused, since its run cannot end (${name})`, async () => {
    await using service = await openSessionRpc(connect)
    await service.client.createSession({ sessionId }, service.as())
    service.damage()
    await service.client.waitSession({ sessionId }, service.as())
    await service.client.promptSession({ sessionId, messageId: 'msg_1', text: 'a' }, service.as())
    const refused = await refusalOf(service.client.waitSession({ sessionId }, service.as()))
    assert.equal(refused.reason, 'STORE_UNAVAILABLE')
  })

  test(`an unknown session is not found (${name})`, async () => {
    await using service = await openSessionRpc(connect)
    assert.equal((await refusalOf(service.client.waitSession({ sessionId }, service.as()))).reason, 'SESSION_NOT_FOUND')
  })
})

test('a server that stops ends each wait, with the reason', async () => {
  const service = await openSessionRpc(connectHttp2)
  await service.client.createSession({ sessionId }, service.as())
  await service.client.promptSession({ sessionId, messageId: 'msg_1', text: 'a' }, service.as())
  const entered = Promise.withResolvers<void>()
  const { inspect } = service.store
  service.store.inspect = (key, read, view) => inspect(key, read, view).finally(entered.resolve)
  const call = assert.rejects(
    service.client.waitSession({ sessionId }, service.as()),
    (error) => error instanceof ConnectError && error.code === Code.Unavailable,
  )
  await entered.promise
  await service.server?.drain(3_600_000)
  await call
  await service[Symbol.asyncDispose]()
})

test('the store is read once for all callers that wait for a session', async () => {
  await using service = await openSessionRpc(connectHttp2)
  await service.client.createSession({ sessionId }, service.as())
  await service.client.promptSession({ sessionId, messageId: 'msg_1', text: 'a' }, service.as())
  const lease = await service.store.acquireLease('owner', 3_600_000)
  assert.ok(lease)
  await service.store.promote(lease, 'idle')
  const gate = Promise.withResolvers<void>()
  const { inspect } = service.store
  let reads = 0
  service.store.inspect = async (key, read, view) => {
    reads++
    await gate.promise
    return inspect(key, read, view)
  }
  const waiting = Array.from({ length: 200 }, () => service.client.waitSession({ sessionId }, service.as()))
  // What came before on the connection has come to the store by then.
  await service.client.getSession({ sessionId }, service.as())
  assert.equal(reads, 1)
  gate.resolve()
  await service.store.endRun(lease, Outcome.SUCCEEDED)
  await Promise.all(waiting)
  assert.ok(reads <= 3, `${reads} reads`)
})
