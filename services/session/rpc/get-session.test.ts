import assert from 'node:assert/strict'
import { test } from 'node:test'
import { refusalOf } from '#test/support/rejects.ts'
import { openSessionRpc } from '#test/support/session-rpc.ts'
import { forEachTransport } from '#test/support/transports.ts'

forEachTransport((name, connect) => {
  test(`a session is returned as it was created (${name})`, async () => {
    await using service = await openSessionRpc(connect)
    const { session } = await service.client.createSession({ sessionId: 'ses_a' }, service.as())
    assert.deepEqual((await service.client.getSession({ sessionId: 'ses_a' }, service.as())).session, session)
  })

  test(`another workspace’s session looks, byte for byte, like one that does not exist (${name})`, async () => {
    await using service = await openSessionRpc(connect)
    await service.client.createSession({ sessionId: 'ses_a' }, service.as())
    const theirs = await refusalOf(service.client.getSession({ sessionId: 'ses_a' }, service.as('wrk_2')))
    assert.deepEqual(theirs, {
      code: 'NotFound',
      domain: 'session',
      reason: 'SESSION_NOT_FOUND',
      metadata: { session_id: 'ses_a' },
      message: 'Session not found: ses_a',
    })
  })
})
