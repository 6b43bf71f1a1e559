import assert from 'node:assert/strict'
import { test } from 'node:test'
import { create } from '@bufbuild/protobuf'
import { Delivery, SessionSchema } from '#gen/portico/session/v1/session_pb.js'
import { plain } from '#test/support/inference.ts'
import { refusalOf } from '#test/support/rejects.ts'
import { openSessionRpc, type SessionRpc } from '#test/support/session-rpc.ts'
import { type Connect, forEachTransport } from '#test/support/transports.ts'

const sessionId = 'ses_a'

async function withSession(connect: Connect, directory = '/project'): Promise<SessionRpc> {
  const service = await openSessionRpc(connect)
  await service.client.createSession({ sessionId, directory }, service.as())
  return service
}

const inboxOf = async ({ client, as }: SessionRpc) => (await client.listInboxItems({ sessionId }, as())).items
const directoryOf = async ({ client, as }: SessionRpc) =>
  (await client.getSession({ sessionId }, as())).session?.directory

forEachTransport((name, connect) => {
  test(`a move is admitted, wakes the session, and is applied by whoever drains it (${name})`, async () => {
    await using service = await withSession(connect)
    const { client, store } = service
    const request = { sessionId, messageId: 'msg_1', directory: ' ../other ', delivery: Delivery.QUEUE }
    await client.moveSession(request, service.as())
    await client.moveSession(request, service.as())
    const [item, ...more] = await inboxOf(service)
    assert.deepEqual(more, [])
    assert.equal(item?.delivery, Delivery.QUEUE)
    const value = { directory: '/other', projectId: 'global', subpath: '' }
    assert.deepEqual(plain(item?.payload), { case: 'move', value })
    assert.equal(await directoryOf(service), '/project')
    const lease = await store.acquireLease('owner', 60_000)
    assert.ok(lease)
    await store.beginStep(lease)
    assert.equal(await directoryOf(service), '/other')
    const [message] = (await client.listMessages({ sessionId }, service.as())).messages
    const previous = { directory: '/project', projectId: 'global', subpath: '' }
    assert.deepEqual(plain(message?.kind), { case: 'locationSwitched', value: { location: value, previous } })
    assert.equal(message?.messageId, 'msg_1')
  })

  test(`a move that is sent again after it was made is the same move, even if its directory is relative (${name})`, async () => {
    await using service = await withSession(connect)
    const move = (directory: string, delivery = Delivery.STEER) =>
      service.client.moveSession({ sessionId, messageId: 'msg_1', directory, delivery }, service.as())
    await move('sub')
    const lease = await service.store.acquireLease('owner', 60_000)
    assert.ok(lease)
    await service.store.beginStep(lease)
    assert.equal(await directoryOf(service), '/project/sub')
    await move('sub')
    assert.equal(await directoryOf(service), '/project/sub')
    assert.deepEqual(await inboxOf(service), [])
    assert.equal((await refusalOf(move('other'))).reason, 'PROMPT_CONFLICT')
    assert.equal((await refusalOf(move('sub', Delivery.QUEUE))).reason, 'PROMPT_CONFLICT')
  })

  test(`a destination that cannot be used is refused, and nothing is admitted (${name})`, async () => {
    await using service = await withSession(connect)
    const move = (directory: string, as = service.as()) =>
      service.client.moveSession({ sessionId, messageId: 'msg_1', directory }, as)
    for (const [directory, problem] of [
      ['/missing', 'Directory does not exist'],
      ['/file', 'Not a directory'],
      [' /forbidden', 'Directory is unavailable'],
    ] as const) {
      const { reason, metadata } = await refusalOf(move(directory))
      assert.deepEqual([reason, metadata], ['DESTINATION_INVALID', { directory: directory.trim(), problem }])
    }
    assert.equal((await refusalOf(move(''))).reason, 'REQUEST_INVALID')
    assert.equal((await refusalOf(move('/other', service.as('wrk_2')))).reason, 'SESSION_NOT_FOUND')
    assert.deepEqual(await inboxOf(service), [])
  })

  test(`an id of something else is a conflict (${name})`, async () => {
    await using service = await withSession(connect)
    await service.client.promptSession({ sessionId, messageId: 'msg_1', text: 'a', parked: true }, service.as())
    const move = service.client.moveSession({ sessionId, messageId: 'msg_1', directory: '/other' }, service.as())
    assert.equal((await refusalOf(move)).reason, 'PROMPT_CONFLICT')
  })

  test(`a session at rest whose directory is gone moves at once (${name})`, async () => {
    for (const gone of ['/missing', '/file', '/forbidden']) {
      await using service = await openSessionRpc(connect)
      const session = create(SessionSchema, { sessionId, directory: gone, projectId: 'prj', subpath: 'a' })
      await service.store.createSession('wrk_1', session)
      const request = { sessionId, messageId: 'msg_1', directory: '/other' }
      await service.client.moveSession(request, service.as())
      assert.equal(await directoryOf(service), '/other')
      await service.client.moveSession(request, service.as())
      assert.equal((await service.client.listMessages({ sessionId }, service.as())).messages.length, 1)
      assert.deepEqual(await inboxOf(service), [])
    }
  })
})
