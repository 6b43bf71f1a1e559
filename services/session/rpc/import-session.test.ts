import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { MessageInitShape } from '@bufbuild/protobuf'
import {
  type AssistantPartSchema,
  Compaction_Status,
  type MessageSchema,
  ShellCommand_Status,
} from '#gen/portico/session/v1/message_pb.js'
import type { SessionSchema } from '#gen/portico/session/v1/session_pb.js'
import type { ExportSessionResponse } from '#gen/portico/session/v1/session_service_pb.js'
import { reasonOf } from '#shared/reasons.ts'
import { admission, newSession } from '#test/contract/session-store.support.ts'
import { importedMessages } from '#test/support/imported-messages.ts'
import { openSessionRpc, type SessionRpc } from '#test/support/session-rpc.ts'
import { forEachTransport } from '#test/support/transports.ts'

const session = { sessionId: 'ses_1', title: 'Imported', createTime: 5 }

const fileWith = ({ data, mime }: { data: Uint8Array<ArrayBuffer>; mime: string }) =>
  ({ source: { case: 'data', value: data }, mime }) as const

const says = (messageId: string, files: readonly { data: Uint8Array<ArrayBuffer>; mime: string }[] = []) =>
  ({
    messageId,
    createTime: 7,
    kind: { case: 'user', value: { text: 'Look', files: files.map(fileWith) } },
  }) satisfies MessageInitShape<typeof MessageSchema>

type AssistantPartInit = MessageInitShape<typeof AssistantPartSchema>['part']
type Messages = Parameters<typeof importedMessages>[0]

const send = ({ client, as }: SessionRpc, messages: Messages, of: MessageInitShape<typeof SessionSchema> = session) =>
  client.importSession({ session: of, messages: importedMessages(messages) }, as())

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

/** Maximum number of ancestors. */
const MOST = 100

forEachTransport((name, connect) => {
  test(`shows an imported session with its messages and their content (${name})`, async () => {
    await using service = await openSessionRpc(connect)
    const data = new Uint8Array(1_000_000).fill(3)
    const { session: made } = await send(service, [says('msg_1', [{ data, mime: 'text/plain' }]), says('msg_2')])
    assert.deepEqual([made?.title, made?.createTime], ['Imported', 5])
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

  test(`takes a request that is larger than those of other methods may be (${name})`, async () => {
    await using service = await openSessionRpc(connect)
    const data = new Uint8Array(20_971_520)
    await send(
      service,
      ['msg_1', 'msg_2', 'msg_3', 'msg_4'].map((id) => says(id, [{ data, mime: 'image/png' }])),
    )
    const { message } = await service.client.getMessage({ sessionId: 'ses_1', messageId: 'msg_4' }, service.as())
    assert.equal(message?.messageId, 'msg_4')
  })

  test(`refuses an import that is not new or does not fit, and leaves nothing of it (${name})`, async () => {
    await using service = await openSessionRpc(connect)
    const { client, as, store } = service
    await store.createSession('wrk_1', newSession('ses_known'))
    await store.admit('wrk_1', admission('msg_known', { sessionId: 'ses_known', wake: false }))
    const many = Array.from({ length: 250 }, (_, i) => says(`msg_${i}`))
    assert.equal(await reasonFor(send(service, [...many, says('msg_known')])), 'MESSAGE_EXISTS')
    assert.equal(await reasonFor(client.getSession({ sessionId: 'ses_1' }, as())), 'SESSION_NOT_FOUND')
    const wrong = [says('msg_1'), says('abc')]
    assert.equal(await reasonFor(send(service, wrong)), 'REQUEST_INVALID messages.1.message_id')
    const large = says('msg_1', [{ data: new Uint8Array(20_971_521), mime: 'image/png' }])
    assert.equal(await reasonFor(send(service, [large])), 'REQUEST_INVALID messages.0.user.files.0.data')
    const part: AssistantPartInit = { case: 'tool', value: { callId: 'call_1', name: 'read', content: [{}] } }
    const empty: Messages[number] = {
      messageId: 'msg_1',
      createTime: 7,
      kind: { case: 'assistant', value: { agent: 'build', parts: [{ part }] } },
    }
    const field = 'messages.0.assistant.parts.0.tool.content.0'
    assert.equal(await reasonFor(send(service, [empty])), `REQUEST_INVALID ${field}`)
    await send(service, many)
    const items = await exported(service)
    assert.deepEqual(
      items.flatMap((item) => (item.case === 'message' ? [item.value.messageId] : [])),
      many.map(({ messageId }) => messageId),
    )
    assert.equal(await reasonFor(send(service, [])), 'SESSION_EXISTS')
  })

  test(`leaves messages out that are still running (${name})`, async () => {
    await using service = await openSessionRpc(connect)
    const createTime = 7
    const model = { modelId: 'echo', providerId: 'portico' }
    const kinds = [
      { case: 'assistant', value: { agent: 'build', model } },
      { case: 'shell', value: { shellId: 's', command: 'c', status: ShellCommand_Status.RUNNING } },
      { case: 'compaction', value: { status: Compaction_Status.RUNNING } },
    ] as const
    const running = kinds.map((kind, i) => ({ messageId: `msg_${i}`, createTime, kind }))
    await send(service, [...running, says('msg_3')])
    const { messages } = await service.client.listMessages({ sessionId: 'ses_1' }, service.as())
    assert.deepEqual(
      messages.map(({ messageId }) => messageId),
      ['msg_3'],
    )
  })

  test(`leaves nothing of an import whose caller hangs up (${name})`, async () => {
    await using service = await openSessionRpc(connect)
    const { client, as } = service
    const leaving = new AbortController()
    const many = Array.from({ length: 5_000 }, (_, i) => says(`msg_${i}`))
    const call = client.importSession(
      { session, messages: importedMessages(many) },
      { ...as(), signal: leaving.signal },
    )
    setTimeout(() => leaving.abort(), 20)
    await assert.rejects(call)
    assert.equal(await reasonFor(client.getSession({ sessionId: 'ses_1' }, as())), 'SESSION_NOT_FOUND')
    // The same ids can be imported once the first import is given up.
    for (;;) {
      const reason = await send(service, many).then(
        () => undefined,
        (error: unknown) => reasonOf(error)?.reason,
      )
      if (reason === undefined) break
      assert.ok(reason === 'MESSAGE_EXISTS' || reason === 'SESSION_EXISTS', reason)
    }
  })

  test(`refuses a parent with ${MOST} ancestors, and one that does not exist (${name})`, async () => {
    await using service = await openSessionRpc(connect)
    for (let n = 1; n <= MOST; n++) {
      await service.store.createSession('wrk_1', newSession(`ses_a${n}`), n === 1 ? undefined : `ses_a${n - 1}`)
    }
    await send(service, [], { ...session, parentId: `ses_a${MOST}` })
    const below = (parentId: string) => send(service, [], { ...session, sessionId: 'ses_2', parentId })
    assert.equal(await reasonFor(below('ses_1')), 'REQUEST_INVALID parent_id')
    assert.equal(await reasonFor(below('ses_none')), 'SESSION_NOT_FOUND')
  })
})
