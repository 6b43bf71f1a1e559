import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Code, ConnectError } from '@connectrpc/connect'
import { refusalOf } from '#test/support/rejects.ts'
import { openSessionRpc } from '#test/support/session-rpc.ts'
import { asKey, eventsUntil, openSessionService } from '#test/support/session-service.ts'
import { calls, hangingTool, hangs } from '#test/support/session-turns.ts'
import { forEachTransport } from '#test/support/transports.ts'
import { waitFor } from '#test/support/wait-until.ts'

const sessionId = 'ses_a'

forEachTransport((name, connect) => {
  test(`a removed session is not found, and its last event says so (${name})`, async () => {
    await using service = await openSessionRpc(connect)
    const { client } = service
    await client.createSession({ sessionId }, service.as())
    const far = await refusalOf(client.removeSession({ sessionId }, service.as('wrk_2')))
    assert.deepEqual([far.code, far.reason, far.metadata], ['NotFound', 'SESSION_NOT_FOUND', { session_id: sessionId }])
    const stream = client.streamEvents({}, service.as())[Symbol.asyncIterator]()
    await stream.next()
    await client.removeSession({ sessionId }, service.as())
    const { value } = await stream.next()
    assert.ok(value?.message.case === 'event')
    assert.deepEqual(
      [value.message.value.sessionId, value.message.value.event],
      [sessionId, { case: 'sessionDeleted', value: value.message.value.event.value }],
    )
    await stream.return?.()
    assert.equal((await refusalOf(client.removeSession({ sessionId }, service.as()))).reason, 'SESSION_NOT_FOUND')
    assert.equal((await refusalOf(client.getSession({ sessionId }, service.as()))).reason, 'SESSION_NOT_FOUND')
    await waitFor('the rest to be deleted', async () => (await service.store.takeRemoval(1)) === undefined)
  })

  test(`a caller that waits for a session is notified of its removal (${name})`, async () => {
    await using service = await openSessionRpc(connect)
    const { client } = service
    await client.createSession({ sessionId }, service.as())
    await client.promptSession({ sessionId, messageId: 'msg_1', text: 'a' }, service.as())
    const waiting = refusalOf(client.waitSession({ sessionId }, service.as()))
    await client.removeSession({ sessionId }, service.as())
    assert.equal((await waiting).reason, 'SESSION_NOT_FOUND')
  })
})

test('stops the run of a removed session: the call of the provider, and the tools', async () => {
  await using service = await openSessionService()
  const { peers, client } = service
  const tool = hangingTool()
  peers.tools.slow = tool.script
  peers.turns.push(calls({ id: 'call_1', name: 'slow' }))
  await service.create()
  await service.prompt('go')
  await tool.running
  await client.removeSession({ sessionId: 'ses_1' }, asKey)
  assert.ok(tool.aborted || peers.ended.length === 1)
  await waitFor('the tool to end', async () => tool.aborted)
  assert.deepEqual(peers.ended[0], (peers.fences[0] ?? 0n) + 1n)

  await service.create('ses_2')
  peers.turns.push(hangs())
  const { events } = await eventsUntil(client, 'partExtended')
  await service.prompt('go', { sessionId: 'ses_2' })
  await events
  await client.removeSession({ sessionId: 'ses_2' }, asKey)
  await waitFor('nothing to run', async () => (await client.listActiveSessions({}, asKey)).sessionIds.length === 0)
  await service.create('ses_3')
  await service.prompt('go', { sessionId: 'ses_3' })
  await service.wait('ses_3')
})

test('a removal is answered though the catalog is away, and tools are ended when it is back', async () => {
  await using service = await openSessionService()
  const { peers, client } = service
  const tool = hangingTool()
  peers.tools.slow = tool.script
  peers.turns.push(calls({ id: 'call_1', name: 'slow' }))
  await service.create()
  await service.prompt('go')
  await tool.running
  peers.onEnd = async () => {
    throw new ConnectError('away', Code.Unavailable)
  }
  await client.removeSession({ sessionId: 'ses_1' }, asKey)
  assert.ok(peers.ended.length > 0)
})
