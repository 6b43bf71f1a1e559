import assert from 'node:assert/strict'
import { test } from 'node:test'
import { refusalOf } from '#test/support/rejects.ts'
import { openSessionRpc } from '#test/support/session-rpc.ts'
import { forEachTransport } from '#test/support/transports.ts'

const sessionId = 'ses_1'

forEachTransport((name, connect) => {
  test(`the context of a session includes the content of its files and the step in progress (${name})`, async () => {
    await using service = await openSessionRpc(connect)
    const { client, store } = service
    await client.createSession({ sessionId }, service.as())
    const files = [{ uri: 'size:1000000' }, { uri: 'size:0' }]
    await client.promptSession({ sessionId, messageId: 'msg_1', text: 'Hi', files }, service.as())
    const lease = await store.acquireLease('owner', 60_000)
    assert.ok(lease)
    await store.promote(lease, 'idle')
    const found: unknown[] = []
    for await (const { item } of client.streamSessionContext({ sessionId }, service.as())) {
      if (item.case === 'content') found.push([item.value.data.length, item.value.last])
      else found.push([item.value?.messageId, item.value?.kind.case])
    }
    assert.deepEqual(found, [
      ['msg_1', 'user'],
      [786_432, false],
      [213_568, true],
      [0, true],
    ])
    const other = client.streamSessionContext({ sessionId }, service.as('wrk_2'))
    const { reason } = await refusalOf(other[Symbol.asyncIterator]().next())
    assert.equal(reason, 'SESSION_NOT_FOUND')
  })
})
