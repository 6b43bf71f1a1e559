import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { PermissionRule_Effect as Effect } from '#gen/portico/catalog/v1/catalog_pb.js'
import { Delivery, Outcome, PermissionReply as Reply } from '#gen/portico/session/v1/session_pb.js'
import { openSqliteSessionStore } from '#services/session/adapters/sqlite/open-session-store.ts'
import { answerRequest, type PermissionAnswer } from '#services/session/domain/permission/permission-requests.ts'
import { storeSchema } from '#services/session/open.ts'
import { systemClock } from '#shared/clock.ts'
import { afterKill } from '#test/support/after-kill.ts'
import { writeEmptyStores } from '#test/support/empty-stores.ts'
import { refusalOf } from '#test/support/rejects.ts'
import { holdEnd, scriptedPeers } from '#test/support/session-peers.ts'
import { asKey, openSessionService, type SessionFixture } from '#test/support/session-service.ts'
import { calls, hangingTool, text } from '#test/support/session-turns.ts'
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

/** Writes an answer that was accepted just before the kill, so that its run has not seen it. */
async function answer(directory: string, requestId: string, given: PermissionAnswer): Promise<void> {
  await using store = await openSqliteSessionStore({ path: join(directory, 'session.sqlite'), clock: systemClock })
  await store.revise(
    { workspace: 'wrk_1', sessionId: 'ses_1' },
    (reads) => reads.waitingRequests(),
    (revision, waiting) => {
      // To open the store has ended the lease.
      revision.set({ leaseUntil: revision.leaseNow + 1 })
      assert.ok(answerRequest(revision, waiting, requestId, given))
      revision.set({ leaseUntil: 0 })
    },
  )
}

test('refuses replies until what a kill cut off is settled, and the run goes on as without them', async () => {
  for (const reply of [Reply.ONCE, Reply.ALWAYS, Reply.REJECT]) {
    await using service = await openSessionService()
    const requestId = await asking(service)
    const directory = await afterKill(service)
    const peers = scriptedPeers()
    peers.turns.push(text('Gone on'), text('The next one'))
    const end = holdEnd(peers)
    await using after = await openSessionService({ directory, peers })
    await end.reached
    const replying = after.client.replyPermissionRequest({ sessionId: 'ses_1', requestId, reply }, asKey)
    assert.equal((await refusalOf(replying)).reason, 'PERMISSION_REQUEST_NOT_FOUND')
    end.release()
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

test('a reply that was accepted before a kill counts, even if the run has not seen it', async () => {
  const seen: unknown[] = []
  for (const [reply, message, autoResume] of [
    [Reply.ONCE, '', true],
    [Reply.REJECT, '', true],
    [Reply.REJECT, '', false],
    [Reply.REJECT, 'Read it', true],
  ] as const) {
    await using service = await openSessionService()
    const requestId = await asking(service)
    const directory = await afterKill(service)
    await answer(directory, requestId, { reply, message })
    const peers = scriptedPeers()
    peers.turns.push(text('Gone on'), text('The next one'))
    await using after = await openSessionService({ directory, peers, autoResume })
    await after.wait()
    const [call] = await after.calls()
    const inbox = (await after.client.listInboxItems({ sessionId: 'ses_1' }, asKey)).items
    const ends = (await after.messages()).flatMap(({ kind }) => (kind.case === 'idle' ? [kind.value.outcome] : []))
    assert.deepEqual(peers.started, [])
    seen.push([call?.error?.message, ends, inbox.length, peers.requests.length])
    if (inbox.length === 0) continue
    await after.prompt('And then', { messageId: 'msg_then' })
    await after.wait()
    assert.deepEqual((await after.client.listInboxItems({ sessionId: 'ses_1' }, asKey)).items, [])
  }
  const { SUCCEEDED, INTERRUPTED } = Outcome
  assert.deepEqual(seen, [
    [NOT_BEGUN, [SUCCEEDED, SUCCEEDED], 0, 2],
    ['The user refused the call', [INTERRUPTED], 1, 0],
    ['The user refused the call', [INTERRUPTED], 1, 0],
    ['The user refused the call: Read it', [SUCCEEDED, SUCCEEDED], 0, 2],
  ])
})

test('a call that was permitted and has begun is not said to have done nothing', async () => {
  await using service = await openSessionService()
  const tool = hangingTool()
  service.peers.tools.look = tool.script
  const requestId = await asking(service)
  await service.client.replyPermissionRequest({ sessionId: 'ses_1', requestId, reply: Reply.ONCE }, asKey)
  await tool.running
  const directory = await afterKill(service)
  await using after = await openSessionService({ directory })
  await after.wait()
  const [call] = await after.calls()
  assert.equal(call?.error?.message, 'The tool call was cut off; what it has done is unknown')
})

test('a rejection that is accepted while a stop ends the tools ends the run, also after the next start', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'portico-session-'))
  await using _ = { [Symbol.asyncDispose]: () => rm(directory, { recursive: true }) }
  await writeEmptyStores(directory, storeSchema)
  const service = await openSessionService({ directory })
  const requestId = await asking(service)
  const replied = Promise.withResolvers<unknown>()
  service.peers.onEnd = async () => {
    const reply = { sessionId: 'ses_1', requestId, reply: Reply.REJECT }
    service.client.replyPermissionRequest(reply, asKey).then(replied.resolve, replied.reject)
    await replied.promise
  }
  await service[Symbol.asyncDispose]()
  await replied.promise
  const peers = scriptedPeers()
  await using after = await openSessionService({ directory, peers })
  await after.wait()
  const [call] = await after.calls()
  assert.deepEqual([call?.error?.type, await after.outcome()], ['permission.rejected', Outcome.INTERRUPTED])
  assert.deepEqual(peers.requests, [])
})
