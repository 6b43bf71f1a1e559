import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { InboxItem } from '#gen/portico/session/v1/session_pb.js'
import { Delivery } from '#gen/portico/session/v1/session_pb.js'
import { ListInboxItemsResponseSchema } from '#gen/portico/session/v1/session_service_pb.js'
import { limitOf } from '#shared/rpc/field-limits.ts'
import { plain } from '#test/support/inference.ts'
import { refusalOf } from '#test/support/rejects.ts'
import { openSessionRpc, type SessionRpc } from '#test/support/session-rpc.ts'
import { type Connect, forEachTransport } from '#test/support/transports.ts'

const sessionId = 'ses_a'

async function withSession(connect: Connect): Promise<SessionRpc> {
  const service = await openSessionRpc(connect)
  await service.client.createSession({ sessionId }, service.as())
  return service
}

async function list({ client, as }: SessionRpc): Promise<InboxItem[]> {
  return (await client.listInboxItems({ sessionId }, as())).items
}

const short = (items: readonly InboxItem[]) =>
  items.map(({ messageId, delivery, payload }) => [messageId, Delivery[delivery], payload.case])

forEachTransport((name, connect) => {
  test(`a synthetic text is admitted as it is, and makes the session due unless it is parked (${name})`, async () => {
    await using service = await withSession(connect)
    const { client, clock, store } = service
    const synthetic = { text: 'The build failed', description: 'CI', metadata: { from: 'ci' } }
    const request = { sessionId, messageId: 'msg_1', synthetic, parked: true }
    const { item } = await client.addSyntheticInput(request, service.as())
    assert.deepEqual(plain(item?.payload), { case: 'synthetic', value: synthetic })
    assert.ok(item?.createTime)
    assert.deepEqual([item.createTime, item.delivery], [clock.time, Delivery.STEER])
    assert.equal(await store.isBusy('wrk_1', sessionId), false)
    const again = await client.addSyntheticInput({ ...request, parked: false }, service.as())
    assert.deepEqual(again.item, item)
    assert.equal(await store.isBusy('wrk_1', sessionId), true)
    for (const other of [{ text: 'Another' }, { ...synthetic, description: '' }, { ...synthetic, metadata: {} }]) {
      const { reason, metadata } = await refusalOf(
        client.addSyntheticInput({ ...request, synthetic: other }, service.as()),
      )
      assert.deepEqual([reason, metadata], ['PROMPT_CONFLICT', { message_id: 'msg_1' }])
    }
    const bad = client.addSyntheticInput({ sessionId, messageId: 'msg_2' }, service.as())
    assert.equal((await refusalOf(bad)).reason, 'REQUEST_INVALID')
    const far = client.addSyntheticInput({ ...request, messageId: 'msg_2' }, service.as('wrk_2'))
    assert.equal((await refusalOf(far)).reason, 'SESSION_NOT_FOUND')
  })

  test(`the inbox is listed with the files of its prompts (${name})`, async () => {
    await using service = await withSession(connect)
    const { client } = service
    const files = [{ uri: 'data:,inline' }]
    const prompt = { sessionId, messageId: 'msg_1', text: 'a', files, delivery: Delivery.QUEUE, parked: true }
    const { item } = await client.promptSession(prompt, service.as())
    await client.addSyntheticInput(
      { sessionId, messageId: 'msg_2', synthetic: { text: 'b' }, parked: true },
      service.as(),
    )
    const items = await list(service)
    assert.deepEqual(items[0], item)
    assert.deepEqual(short(items), [
      ['msg_1', 'QUEUE', 'prompt'],
      ['msg_2', 'STEER', 'synthetic'],
    ])
    const { reason } = await refusalOf(client.listInboxItems({ sessionId }, service.as('wrk_2')))
    assert.equal(reason, 'SESSION_NOT_FOUND')
  })

  test(`a list ends before it grows too large, but always shows one item (${name})`, async () => {
    await using service = await withSession(connect)
    const mib = 1_048_576
    for (const [id, sizes] of [
      ['msg_1', [20 * mib, 20 * mib - 65_536]],
      ['msg_2', [70_000]],
      ['msg_3', [10]],
    ] as const) {
      const files = sizes.map((size) => ({ uri: `size:${size}` }))
      await service.client.promptSession({ sessionId, messageId: id, text: id, files, parked: true }, service.as())
    }
    assert.deepEqual(short(await list(service)), [['msg_1', 'STEER', 'prompt']])
  })

  test(`a list ends before it grows too large as JSON (${name})`, async () => {
    await using service = await withSession(connect)
    // Each is 6 MiB of JSON.
    const text = '\u0001'.repeat(1_048_576)
    for (let n = 0; n < 9; n++) {
      await service.client.promptSession({ sessionId, messageId: `msg_${n}`, text, parked: true }, service.as())
    }
    assert.equal((await list(service)).length, 6)
  })

  test(`the longest list is complete: as many items as may wait (${name})`, async () => {
    await using service = await withSession(connect)
    const { most } = limitOf(ListInboxItemsResponseSchema.field.items)
    const admissions = Array.from({ length: most }, (_, n) =>
      service.client.promptSession(
        { sessionId, messageId: `msg_${n}`, text: 'a', parked: true, delivery: 1 + (n % 2) },
        service.as(),
      ),
    )
    await Promise.all(admissions)
    const ids = (await list(service)).map(({ messageId }) => messageId)
    assert.deepEqual(
      ids,
      Array.from({ length: most }, (_, n) => `msg_${n}`),
    )
    const more = service.client.promptSession(
      { sessionId, messageId: 'msg_more', text: 'a', parked: true },
      service.as(),
    )
    const { reason, metadata } = await refusalOf(more)
    assert.deepEqual([reason, metadata.limit], ['INBOX_FULL', `${most}`])
  })

  test(`a delivery is changed while its item waits, unless it is already that (${name})`, async () => {
    await using service = await withSession(connect)
    const { client } = service
    await client.promptSession({ sessionId, messageId: 'msg_1', text: 'a', parked: true }, service.as())
    const change = (delivery: Delivery, messageId = 'msg_1', as = service.as()) =>
      client.changeInboxDelivery({ sessionId, messageId, delivery }, as)
    await change(Delivery.QUEUE)
    assert.deepEqual(short(await list(service)), [['msg_1', 'QUEUE', 'prompt']])
    for (const [messageId, problem] of [
      ['msg_1', 'already has the delivery queue'],
      ['msg_unknown', 'was never in the inbox of this session'],
    ] as const) {
      const { reason, metadata } = await refusalOf(change(Delivery.QUEUE, messageId))
      assert.deepEqual([reason, metadata], ['INBOX_ITEM_CONFLICT', { message_id: messageId, problem }])
    }
    assert.equal((await refusalOf(change(Delivery.UNSPECIFIED))).reason, 'REQUEST_INVALID')
    assert.equal((await refusalOf(change(Delivery.STEER, 'msg_1', service.as('wrk_2')))).reason, 'SESSION_NOT_FOUND')
  })

  test(`an item is cancelled once, and one that does not wait any more is left alone (${name})`, async () => {
    await using service = await withSession(connect)
    const { client } = service
    await client.promptSession({ sessionId, messageId: 'msg_1', text: 'a', parked: true }, service.as())
    for (const messageId of ['msg_1', 'msg_1', 'msg_unknown']) {
      await client.cancelInboxItem({ sessionId, messageId }, service.as())
    }
    assert.deepEqual(await list(service), [])
    const { reason } = await refusalOf(client.cancelInboxItem({ sessionId, messageId: 'msg_1' }, service.as('wrk_2')))
    assert.equal(reason, 'SESSION_NOT_FOUND')
  })
})
