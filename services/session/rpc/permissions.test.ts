import assert from 'node:assert/strict'
import { test } from 'node:test'
import { create } from '@bufbuild/protobuf'
import { PermissionRule_Effect } from '#gen/portico/catalog/v1/catalog_pb.js'
import {
  PermissionReply,
  type PermissionRequest,
  PermissionRequestSchema,
  SessionSchema,
} from '#gen/portico/session/v1/session_pb.js'
import { plain } from '#test/support/inference.ts'
import { refusalOf } from '#test/support/rejects.ts'
import { openSessionRpc, type SessionRpc } from '#test/support/session-rpc.ts'
import { type Connect, forEachTransport } from '#test/support/transports.ts'
import type { AcquiredLease } from '../ports/lease.ts'

const sessionId = 'ses_a'

/** A session whose run asks twice. */
async function asking(connect: Connect): Promise<{ service: SessionRpc; lease: AcquiredLease }> {
  const service = await openSessionRpc(connect)
  await service.client.createSession({ sessionId }, service.as())
  await service.client.promptSession({ sessionId, messageId: 'msg_1', text: 'a' }, service.as())
  const lease = await service.store.acquireLease('owner', 60_000)
  assert.ok(lease)
  await service.store.promote(lease, 'idle')
  for (const id of ['per_1', 'per_2']) await service.store.requestPermission(lease, requestOf(id, service.clock.time))
  return { service, lease }
}

/** A request that waits for a second. */
function requestOf(requestId: string, createTime: number): PermissionRequest {
  return create(PermissionRequestSchema, {
    ...{ requestId, sessionId, action: 'bash', resources: [requestId], savePatterns: ['ls *'] },
    ...{ messageId: 'msg_2', callId: `call_${requestId}`, createTime, expireTime: createTime + 1_000 },
  })
}

/** Creates `ses_child` below `ses_root`, and acquires the lease of its run. */
async function childOfRoot({ client, store, as }: SessionRpc): Promise<AcquiredLease> {
  await client.createSession({ sessionId: 'ses_root' }, as())
  const child = { sessionId: 'ses_child', title: 'Child', agent: 'build', directory: '/project', projectId: 'global' }
  await store.createSession('wrk_1', create(SessionSchema, child), 'ses_root')
  await client.promptSession({ sessionId: 'ses_child', messageId: 'msg_9', text: 'a' }, as())
  const lease = await store.acquireLease('owner', 60_000)
  assert.equal(lease?.sessionId, 'ses_child')
  await store.promote(lease, 'idle')
  return lease
}

forEachTransport((name, connect) => {
  test(`waiting requests are listed oldest first, for a session and for the workspace (${name})`, async () => {
    const { service } = await asking(connect)
    await using _ = service
    for (const request of [{}, { sessionId }]) {
      const { requests } = await service.client.listPermissionRequests(request, service.as())
      assert.deepEqual(
        requests.map(({ requestId, action, resources, savePatterns, callId }) => [
          requestId,
          action,
          resources,
          savePatterns,
          callId,
        ]),
        [
          ['per_1', 'bash', ['per_1'], ['ls *'], 'call_per_1'],
          ['per_2', 'bash', ['per_2'], ['ls *'], 'call_per_2'],
        ],
      )
    }
    assert.deepEqual((await service.client.listPermissionRequests({}, service.as('wrk_2'))).requests, [])
    const { request } = await service.client.getPermissionRequest({ sessionId, requestId: 'per_2' }, service.as())
    assert.equal(request?.requestId, 'per_2')
  })

  test(`requests of sessions below one are listed, however many wait elsewhere (${name})`, async () => {
    const { service, lease } = await asking(connect)
    await using _ = service
    const { client, store, clock } = service
    const others = Array.from({ length: 1_000 }, (_, i) => requestOf(`per_more_${i}`, clock.time))
    await Promise.all(others.map((each) => store.requestPermission(lease, each)))
    const own = await childOfRoot(service)
    clock.time += 1
    await store.requestPermission(own, { ...requestOf('per_below', clock.time), sessionId: 'ses_child' })
    const { requests } = await client.listPermissionRequests({ sessionId: 'ses_root' }, service.as())
    assert.deepEqual(
      requests.map(({ requestId }) => requestId),
      ['per_below'],
    )
  })

  test(`a request is found through a session above it, and no others are read for that (${name})`, async () => {
    const { service, lease } = await asking(connect)
    await using _ = service
    const { client, store, clock } = service
    const own = await childOfRoot(service)
    await store.requestPermission(own, { ...requestOf('per_below', clock.time), sessionId: 'ses_child' })
    Object.assign(store, { waitingRequests: () => assert.fail('all requests were read') })
    const below = { sessionId: 'ses_root', requestId: 'per_below' }
    assert.equal((await client.getPermissionRequest(below, service.as())).request?.sessionId, 'ses_child')
    const unknown = 'PERMISSION_REQUEST_NOT_FOUND'
    for (const requestId of ['per_1', 'per_none']) {
      const request = { sessionId: 'ses_root', requestId, reply: PermissionReply.ONCE }
      assert.equal((await refusalOf(client.getPermissionRequest(request, service.as()))).reason, unknown)
      assert.equal((await refusalOf(client.replyPermissionRequest(request, service.as()))).reason, unknown)
    }
    await client.replyPermissionRequest({ ...below, reply: PermissionReply.ONCE }, service.as())
    assert.equal((await store.readPermissionAnswer(own, 'per_below'))?.reply, PermissionReply.ONCE)
    assert.equal(await store.readPermissionAnswer(lease, 'per_1'), undefined)
  })

  test(`a session below that is removed meanwhile has no requests any more (${name})`, async () => {
    const { service } = await asking(connect)
    await using _ = service
    const { client, store } = service
    Object.assign(store, { sessionOfRequest: async () => 'ses_gone', parentOf: async () => sessionId })
    const request = { sessionId, requestId: 'per_gone', reply: PermissionReply.ONCE }
    const unknown = 'PERMISSION_REQUEST_NOT_FOUND'
    assert.equal((await refusalOf(client.getPermissionRequest(request, service.as()))).reason, unknown)
    assert.equal((await refusalOf(client.replyPermissionRequest(request, service.as()))).reason, unknown)
  })

  test(`a request is found while it waits, however many wait before it (${name})`, async () => {
    const { service, lease } = await asking(connect)
    await using _ = service
    const { client, store, clock } = service
    const ids = Array.from({ length: 1_000 }, (_, i) => `per_more_${i}`)
    await Promise.all(ids.map((id) => store.requestPermission(lease, requestOf(id, clock.time))))
    const get = (requestId: string) => client.getPermissionRequest({ sessionId, requestId }, service.as())
    assert.equal((await get('per_more_999')).request?.requestId, 'per_more_999')
    await client.replyPermissionRequest({ sessionId, requestId: 'per_1', reply: PermissionReply.ONCE }, service.as())
    clock.time += 999
    await get('per_2')
    assert.equal((await refusalOf(get('per_1'))).reason, 'PERMISSION_REQUEST_NOT_FOUND')
    clock.time += 1
    assert.equal((await refusalOf(get('per_2'))).reason, 'PERMISSION_REQUEST_NOT_FOUND')
  })

  test(`a request of a run that was cut off takes no answer, since nobody would observe it (${name})`, async () => {
    const { service, lease } = await asking(connect)
    await using _ = service
    const { client, store } = service
    await store.releaseLease(lease)
    const reply = client.replyPermissionRequest(
      { sessionId, requestId: 'per_1', reply: PermissionReply.ONCE },
      service.as(),
    )
    assert.equal((await refusalOf(reply)).reason, 'PERMISSION_REQUEST_NOT_FOUND')
  })

  test(`an answer reaches the drain, is saved for good, and can be given once (${name})`, async () => {
    const { service, lease } = await asking(connect)
    await using _ = service
    const { client, store } = service
    const once = { sessionId, requestId: 'per_1', reply: PermissionReply.ONCE }
    await client.replyPermissionRequest(once, service.as())
    assert.deepEqual(await store.readPermissionAnswer(lease, 'per_1'), { reply: PermissionReply.ONCE, message: '' })
    const again = await refusalOf(client.replyPermissionRequest(once, service.as()))
    assert.deepEqual(
      [again.code, again.reason, again.metadata.request_id],
      ['NotFound', 'PERMISSION_REQUEST_NOT_FOUND', 'per_1'],
    )
    await client.replyPermissionRequest({ sessionId, requestId: 'per_2', reply: PermissionReply.ALWAYS }, service.as())
    assert.deepEqual((await store.savedApprovals('wrk_1', 'global')).map(plain), [
      { action: 'bash', resource: 'ls *', effect: PermissionRule_Effect.ALLOW },
    ])
  })

  test(`a rejection with a message rejects all other requests of the session (${name})`, async () => {
    const { service, lease } = await asking(connect)
    await using _ = service
    const reply = PermissionReply.REJECT
    await service.client.replyPermissionRequest(
      { sessionId, requestId: 'per_1', reply, message: 'use git' },
      service.as(),
    )
    assert.deepEqual(await service.store.readPermissionAnswer(lease, 'per_1'), {
      reply: PermissionReply.REJECT,
      message: 'use git',
    })
    assert.equal((await service.store.readPermissionAnswer(lease, 'per_2'))?.reply, PermissionReply.REJECT)
  })

  test(`outsiders, expired requests and bad answers are refused (${name})`, async () => {
    const { service } = await asking(connect)
    await using _ = service
    const { client } = service
    const answer = { sessionId, requestId: 'per_1', reply: PermissionReply.ONCE }
    const reasonOf = async (call: Promise<unknown>) => (await refusalOf(call)).reason
    assert.equal(await reasonOf(client.replyPermissionRequest(answer, service.as('wrk_2'))), 'SESSION_NOT_FOUND')
    assert.equal(await reasonOf(client.listPermissionRequests({ sessionId }, service.as('wrk_2'))), 'SESSION_NOT_FOUND')
    assert.equal(await reasonOf(client.getPermissionRequest(answer, service.as('wrk_2'))), 'SESSION_NOT_FOUND')
    const none = { ...answer, reply: PermissionReply.UNSPECIFIED }
    assert.equal(await reasonOf(client.replyPermissionRequest(none, service.as())), 'REQUEST_INVALID')
    const long = { ...answer, message: 'x'.repeat(4_097) }
    assert.equal(await reasonOf(client.replyPermissionRequest(long, service.as())), 'REQUEST_INVALID')
    service.clock.time += 1_000
    assert.equal(await reasonOf(client.replyPermissionRequest(answer, service.as())), 'PERMISSION_REQUEST_NOT_FOUND')
    const unknown = { sessionId, requestId: 'per_9' }
    assert.equal(await reasonOf(client.getPermissionRequest(unknown, service.as())), 'PERMISSION_REQUEST_NOT_FOUND')
  })
})
