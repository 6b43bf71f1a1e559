import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { MessageInitShape } from '@bufbuild/protobuf'
import { timestampFromMs, timestampMs } from '@bufbuild/protobuf/wkt'
import { Compaction_Status, type MessageSchema, ShellCommand_Status } from '#gen/portico/session/v1/message_pb.js'
import type { ExportSessionResponse, SessionImport } from '#gen/portico/session/v1/session_service_pb.js'
import { reasonOf } from '#shared/reasons.ts'
import { admission, newSession } from '#test/contract/session-store.support.ts'
import { openSessionRpc, type SessionRpc } from '#test/support/session-rpc.ts'
import { forEachTransport } from '#test/support/transports.ts'

const session = { sessionId: 'ses_1', title: 'Imported', createTime: timestampFromMs(5) }

const begin = async ({ client, as }: SessionRpc) => (await client.beginSessionImport({ session }, as())).import

const says = (messageId: string, files: readonly { contentHash: string; mime: string }[] = []) =>
  ({
    messageId,
    createTime: timestampFromMs(7),
    kind: { case: 'user', value: { text: 'Look', files: [...files] } },
  }) satisfies MessageInitShape<typeof MessageSchema>

type Appended = MessageInitShape<typeof MessageSchema>[]

const append = ({ client, as }: SessionRpc, begun: SessionImport | undefined, messages: Appended, workspace?: string) =>
  client.appendImportedMessages({ ...(begun && { import: begun }), messages }, as(workspace))

const commit = ({ client, as }: SessionRpc, begun: SessionImport | undefined, workspace?: string) =>
  client.commitSessionImport({ ...(begun && { import: begun }), session }, as(workspace))

async function reasonFor(call: Promise<unknown>): Promise<unknown> {
  const error = await call.then(
    () => assert.fail('it was not rejected'),
    (error: unknown) => error,
  )
  const { reason, metadata } = reasonOf(error) ?? assert.fail(String(error))
  return metadata.field === undefined ? reason : `${reason} ${metadata.field}`
}

async function exported({ client, as }: SessionRpc): Promise<ExportSessionResponse['item'][]> {
  const items: ExportSessionResponse['item'][] = []
  for await (const { item } of client.exportSession({ sessionId: 'ses_1' }, as())) items.push(item)
  return items
}

forEachTransport((name, connect) => {
  test(`an import is seen once it is committed, with its messages and their content (${name})`, async () => {
    await using service = await openSessionRpc(connect)
    const { client, as } = service
    const begun = await begin(service)
    const data = new Uint8Array(1_000_000).fill(3)
    const { contentHash } = await client.putImportedContent({ ...(begun && { import: begun }), data }, as())
    await append(service, begun, [says('msg_1', [{ contentHash, mime: 'text/plain' }])])
    await append(service, begun, [])
    await append(service, begun, [says('msg_2')])
    assert.equal(await reasonFor(client.getSession({ sessionId: 'ses_1' }, as())), 'SESSION_NOT_FOUND')
    const { session: made } = await commit(service, begun)
    assert.deepEqual([made?.title, made?.createTime && timestampMs(made.createTime)], ['Imported', 5])
    const items = await exported(service)
    const order = items.map((item) => (item.case === 'message' ? item.value.messageId : item.case))
    assert.deepEqual([order[0], order[1], order.at(-1)], ['session', 'msg_1', 'msg_2'])
    const pieces = items.flatMap((item) => (item.case === 'content' ? [item.value] : []))
    assert.deepEqual(Buffer.concat(pieces.map((piece) => piece.data)), Buffer.from(data))
    assert.deepEqual(
      pieces.map(({ last }) => last),
      pieces.map((_, i) => i === pieces.length - 1),
    )
  })

  test(`what is sent to an import has to name it, be new and fit (${name})`, async () => {
    await using service = await openSessionRpc(connect)
    const { client, as, store } = service
    await store.createSession('wrk_1', newSession('ses_known'))
    await store.admitPrompt('wrk_1', admission('msg_known', { sessionId: 'ses_known', wake: false }))
    const begun = await begin(service)
    assert.equal(await reasonFor(append(service, undefined, [says('msg_1')])), 'REQUEST_INVALID import')
    assert.equal(await reasonFor(append(service, begun, [says('msg_1'), says('msg_known')])), 'MESSAGE_EXISTS')
    assert.equal(await reasonFor(append(service, begun, [says('abc')])), 'REQUEST_INVALID message_id')
    const large = { ...(begun && { import: begun }), data: new Uint8Array(20_971_521) }
    assert.equal(await reasonFor(client.putImportedContent(large, as())), 'REQUEST_INVALID data')
    // All or none: the first message of the refused call is not there.
    await append(service, begun, [says('msg_1')])
    await commit(service, begun)
    const items = await exported(service)
    assert.deepEqual(
      items.flatMap((item) => (item.case === 'message' ? [item.value.messageId] : [])),
      ['msg_1'],
    )
    assert.equal(await reasonFor(begin(service)), 'SESSION_EXISTS')
  })

  test(`messages that are still running are left out of an import (${name})`, async () => {
    await using service = await openSessionRpc(connect)
    const { client, as } = service
    const begun = await begin(service)
    const createTime = timestampFromMs(7)
    const model = { modelId: 'echo', providerId: 'portico' }
    const step = {
      messageId: 'msg_1',
      createTime,
      kind: { case: 'assistant', value: { agent: 'build', model } },
    } as const
    const shell = { case: 'shell', value: { shellId: 's', command: 'c', status: ShellCommand_Status.RUNNING } } as const
    const compaction = { case: 'compaction', value: { status: Compaction_Status.RUNNING } } as const
    await append(service, begun, [step, { messageId: 'msg_2', createTime, kind: shell }])
    await append(service, begun, [says('msg_3'), { messageId: 'msg_4', createTime, kind: compaction }])
    await commit(service, begun)
    const { messages } = await client.listMessages({ sessionId: 'ses_1' }, as())
    assert.deepEqual(
      messages.map(({ messageId }) => messageId),
      ['msg_3'],
    )
  })

  test(`an import is its workspace's, ends once, and gives way to one that begins anew (${name})`, async () => {
    await using service = await openSessionRpc(connect)
    const first = await begin(service)
    for (const call of [append(service, first, [says('msg_1')], 'wrk_2'), commit(service, first, 'wrk_2')]) {
      assert.equal(await reasonFor(call), 'STORE_UNAVAILABLE')
    }
    const second = await begin(service)
    assert.equal(await reasonFor(append(service, first, [says('msg_1')])), 'SESSION_EXISTS')
    await append(service, second, [says('msg_1')])
    await service.client.abandonSessionImport({ ...(second && { import: second }) }, service.as())
    assert.equal(await reasonFor(commit(service, second)), 'STORE_UNAVAILABLE')
    const third = await begin(service)
    await append(service, third, [says('msg_1')])
    await commit(service, third)
    assert.equal((await exported(service)).length, 2)
  })
})
