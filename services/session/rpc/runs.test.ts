import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Outcome } from '#gen/portico/session/v1/session_pb.js'
import { refusalOf } from '#test/support/rejects.ts'
import { openSessionRpc } from '#test/support/session-rpc.ts'
import { forEachTransport } from '#test/support/transports.ts'

const sessionId = 'ses_a'

forEachTransport((name, connect) => {
  test(`a session is active while somebody drains it, and an interrupt reaches that drain (${name})`, async () => {
    await using service = await openSessionRpc(connect)
    const { client, store } = service
    await client.createSession({ sessionId }, service.as())
    assert.equal((await client.interruptSession({ sessionId }, service.as())).interrupted, false)
    await client.promptSession({ sessionId, messageId: 'msg_1', text: 'a' }, service.as())
    const lease = await store.acquireLease('owner', 60_000)
    assert.ok(lease)
    await store.promote(lease, 'idle')
    assert.deepEqual((await client.listActiveSessions({}, service.as())).sessionIds, [sessionId])
    assert.deepEqual((await client.listActiveSessions({}, service.as('wrk_2'))).sessionIds, [])
    assert.equal((await client.interruptSession({ sessionId }, service.as())).interrupted, true)
    assert.equal((await store.readLeased(lease)).interruptRequested, true)
    await store.endRun(lease, Outcome.INTERRUPTED)
    assert.deepEqual((await client.listActiveSessions({}, service.as())).sessionIds, [])
  })

  test(`the selected model again changes nothing, and names are checked (${name})`, async () => {
    await using service = await openSessionRpc(connect)
    const { client } = service
    await client.createSession({ sessionId }, service.as())
    const model = { providerId: 'p', modelId: 'm' }
    await client.switchSessionModel({ sessionId, model }, service.as())
    await client.switchSessionModel({ sessionId, model: { ...model, variant: 'default' } }, service.as())
    assert.equal((await client.listMessages({ sessionId }, service.as())).messages.length, 1)
    const reasonOf = async (call: Promise<unknown>) => (await refusalOf(call)).reason
    assert.equal(await reasonOf(client.switchSessionModel({ sessionId }, service.as())), 'REQUEST_INVALID')
    assert.equal(await reasonOf(client.switchSessionAgent({ sessionId, agent: '' }, service.as())), 'REQUEST_INVALID')
    const far = service.as('wrk_2')
    assert.equal(await reasonOf(client.switchSessionModel({ sessionId, model }, far)), 'SESSION_NOT_FOUND')
    assert.equal(await reasonOf(client.switchSessionAgent({ sessionId, agent: 'a' }, far)), 'SESSION_NOT_FOUND')
    assert.equal(await reasonOf(client.interruptSession({ sessionId }, far)), 'SESSION_NOT_FOUND')
  })
})
