import assert from 'node:assert/strict'
import { test } from 'node:test'
import { PermissionRule_Effect as Effect } from '#gen/portico/catalog/v1/catalog_pb.js'
import { Delivery, Outcome, PermissionReply as Reply } from '#gen/portico/session/v1/session_pb.js'
import { afterKill } from '#test/support/after-kill.ts'
import { refusalOf } from '#test/support/rejects.ts'
import { scriptedPeers } from '#test/support/session-peers.ts'
import { asKey, openSessionService, type SessionFixture } from '#test/support/session-service.ts'
import { calls, text } from '#test/support/session-turns.ts'
import { waitFor } from '#test/support/wait-until.ts'

const NOT_BEGUN = 'The tool call was cut off before it began; it has done nothing'

/** A session whose run waits for permission, while a prompt is queued. Returns the id of the request. */
async function asking(service: SessionFixture): Promise<string> {
  await service.create()
  service.peers.rules.push({ action: 'look', resource: '*', effect: Effect.ASK })
  service.peers.turns.push(calls({ id: 'a', name: 'look' }))
  await service.prompt('Look')
  let requestId = ''
  await waitFor('a request', async () => {
    const { requests } = await service.client.listPermissionRequests({ sessionId: 'ses_1' }, asKey)
    requestId = requests[0]?.requestId ?? ''
    return requestId !== ''
  })
  await service.prompt('Next', { messageId: 'msg_next', delivery: Delivery.QUEUE })
  return requestId
}

test('until what a kill cut off is settled, replies are refused, and the run goes on as without them', async () => {
  for (const reply of [Reply.ONCE, Reply.ALWAYS, Reply.REJECT]) {
    await using service = await openSessionService()
    const requestId = await asking(service)
    const directory = await afterKill(service)
    const peers = scriptedPeers()
    peers.turns.push(text('Gone on'), text('The next one'))
    const reached = Promise.withResolvers<void>()
    const released = Promise.withResolvers<void>()
    peers.onEnd = async () => {
      reached.resolve()
      await released.promise
    }
    await using after = await openSessionService({ directory, peers })
    await reached.promise
    const replying = after.client.replyPermissionRequest({ sessionId: 'ses_1', requestId, reply }, asKey)
    assert.equal((await refusalOf(replying)).reason, 'PERMISSION_REQUEST_NOT_FOUND')
    released.resolve()
    await after.wait()
    assert.deepEqual(
      (await after.calls()).map(({ error }) => error?.message),
      [NOT_BEGUN],
    )
    assert.deepEqual([peers.started, peers.requests.length], [[], 2])
    assert.deepEqual((await after.client.listInboxItems({ sessionId: 'ses_1' }, asKey)).items, [])
    assert.equal(await after.outcome(), Outcome.SUCCEEDED)
  }
})
