import assert from 'node:assert/strict'
import { test } from 'node:test'
import { create } from '@bufbuild/protobuf'
import { type BlobRef, ModelRefSchema } from '#gen/portico/catalog/v1/catalog_pb.js'
import { AssistantTool_State } from '#gen/portico/session/v1/message_pb.js'
import { Outcome, TokenUsageSchema } from '#gen/portico/session/v1/session_pb.js'
import { Order } from '#gen/portico/session/v1/session_service_pb.js'
import { fileResult } from '#test/support/every-message.ts'
import { refusalOf } from '#test/support/rejects.ts'
import { openSessionRpc, type SessionRpc } from '#test/support/session-rpc.ts'
import { stepPart } from '#test/support/step-part.ts'
import { type Connect, forEachTransport } from '#test/support/transports.ts'
import { textResult } from '../domain/generation/call-outcome.ts'
import { type MessageOf, messageOf } from '../domain/message.ts'
import { structuredError } from '../domain/structured-error.ts'

const sessionId = 'ses_a'
const T = Date.UTC(2026, 0, 1)
const model = create(ModelRefSchema, { providerId: 'portico', modelId: 'echo' })

/** A session in which everything that a message can be has happened. */
async function withHistory(connect: Connect): Promise<SessionRpc> {
  const service = await openSessionRpc(connect)
  const { client, store, blobs } = service
  await client.createSession({ sessionId }, service.as())
  await client.switchSessionAgent({ sessionId, agent: 'plan' }, service.as())
  await client.switchSessionModel({ sessionId, model: { providerId: 'p', modelId: 'm' } }, service.as())
  await client.promptSession({ sessionId, messageId: 'msg_1', text: 'Hi', files: [{ uri: 'data:,x' }] }, service.as())
  const lease = await store.acquireLease('owner', 60_000)
  assert.ok(lease)
  await store.promote(lease, 'idle')
  const blob = await blobs.put('wrk_1', Buffer.from('png'), { id: 'hold', held: [] })
  await store.recordStep(lease, { message: step(blob), events: [], usage: { costNanos: 5n, tokens: NONE } })
  await store.endRun(lease, Outcome.FAILED, structuredError('provider.refused', 'no', 403))
  return service
}

const NONE = create(TokenUsageSchema, { input: 1, output: 2, reasoning: 3, cacheRead: 4, cacheWrite: 5 })

function step(blob: BlobRef): MessageOf<'assistant'> {
  const times = { createTime: T, runTime: T + 1, completeTime: T + 2 }
  const call = { rawInput: '{"a":1}', input: { a: 1 }, ...times }
  return messageOf({ messageId: 'msg_2', createTime: T }, 'assistant', {
    ...{ agent: 'plan', model, attempt: 1, finish: 'tool-calls', rawFinish: 'raw' },
    parts: [
      stepPart('reasoning', { text: 'hm', state: { signature: 's' }, createTime: T, completeTime: T + 1 }),
      stepPart('text', { text: 'Hello' }),
      stepPart('tool', {
        ...{ ...call, callId: 'c1', name: 'read', state: AssistantTool_State.COMPLETED, metadata: { exit: 0 } },
        content: [textResult('out'), fileResult({ case: 'blob', value: blob }, 'image/png', 'a.png')],
      }),
      stepPart('tool', {
        ...{ ...call, callId: 'c2', name: 'bash', state: AssistantTool_State.ERROR },
        error: structuredError('aborted', 'gone'),
      }),
    ],
    ...{ costNanos: 5n, tokens: NONE, streamTime: T, completeTime: T + 3 },
  })
}

forEachTransport((name, connect) => {
  test(`the history comes in order with everything that was written, files included (${name})`, async () => {
    await using service = await withHistory(connect)
    const order = Order.ASCENDING
    const { messages } = await service.client.listMessages({ sessionId, order }, service.as())
    const kinds = messages.map(({ kind }) => kind)
    assert.deepEqual(
      kinds.map((kind) => kind.case),
      ['agentSwitched', 'modelSwitched', 'user', 'assistant', 'idle'],
    )
    const [agent, selected, user, assistant, idle] = kinds
    assert.ok(agent?.case === 'agentSwitched' && selected?.case === 'modelSwitched' && user?.case === 'user')
    assert.ok(assistant?.case === 'assistant' && idle?.case === 'idle')
    assert.deepEqual([agent.value.agent, agent.value.previous], ['plan', undefined])
    assert.deepEqual([selected.value.model?.modelId, selected.value.previous], ['m', undefined])
    assert.equal(Buffer.from(user.value.files[0]?.source.value as Uint8Array).toString(), 'data:,x')
    assert.deepEqual(
      [idle.value.outcome, idle.value.error?.type, idle.value.error?.status],
      [Outcome.FAILED, 'provider.refused', 403],
    )
    const { value } = assistant
    assert.deepEqual(
      [value.finish, value.rawFinish, value.costNanos, value.tokens?.cacheWrite],
      ['tool-calls', 'raw', 5n, 5],
    )
    assert.equal(value.completeTime, T + 3)
    const [reasoning, text, done, failed] = value.parts.map(({ part }) => part)
    assert.ok(
      reasoning?.case === 'reasoning' && text?.case === 'text' && done?.case === 'tool' && failed?.case === 'tool',
    )
    assert.deepEqual(
      [reasoning.value.text, reasoning.value.state, text.value.text],
      ['hm', { signature: 's' }, 'Hello'],
    )
    assert.deepEqual(
      [done.value.state, done.value.input, done.value.metadata],
      [AssistantTool_State.COMPLETED, { a: 1 }, { exit: 0 }],
    )
    const [out, file] = done.value.content.map(({ content }) => content)
    assert.ok(out?.case === 'text' && file?.case === 'file')
    assert.deepEqual(
      [out.value, Buffer.from(file.value.source.value as Uint8Array).toString(), file.value.mime],
      ['out', 'png', 'image/png'],
    )
    assert.deepEqual([failed.value.state, failed.value.error?.type], [AssistantTool_State.ERROR, 'aborted'])
  })

  test(`a single message is returned, and the newest come first in pages that end (${name})`, async () => {
    await using service = await withHistory(connect)
    const { client } = service
    const { message } = await client.getMessage({ sessionId, messageId: 'msg_2' }, service.as())
    assert.equal(message?.kind.case, 'assistant')
    const seen: (string | undefined)[] = []
    let pageToken: string | undefined
    do {
      const page = await client.listMessages({ sessionId, pageSize: 2, pageToken }, service.as())
      seen.push(...page.messages.map(({ kind }) => kind.case))
      pageToken = page.nextPageToken
    } while (pageToken !== undefined)
    assert.deepEqual(seen, ['idle', 'assistant', 'user', 'modelSwitched', 'agentSwitched'])
  })

  test(`unknown sessions and messages, foreign tokens and bad arguments are refused (${name})`, async () => {
    await using service = await withHistory(connect)
    const { client } = service
    const reasonOf = async (call: Promise<unknown>) => (await refusalOf(call)).reason
    assert.equal(await reasonOf(client.listMessages({ sessionId }, service.as('wrk_2'))), 'SESSION_NOT_FOUND')
    assert.equal(
      await reasonOf(client.getMessage({ sessionId, messageId: 'msg_2' }, service.as('wrk_2'))),
      'SESSION_NOT_FOUND',
    )
    assert.equal(
      await reasonOf(client.getMessage({ sessionId, messageId: 'msg_9' }, service.as())),
      'MESSAGE_NOT_FOUND',
    )
    const { nextPageToken: pageToken } = await client.listMessages({ sessionId, pageSize: 1 }, service.as())
    await client.createSession({ sessionId: 'ses_b' }, service.as())
    assert.equal(await reasonOf(client.listMessages({ sessionId: 'ses_b', pageToken }, service.as())), 'INVALID_CURSOR')
    assert.equal(await reasonOf(client.listMessages({ sessionId, pageSize: -1 }, service.as())), 'REQUEST_INVALID')
    const order = 9 as Order
    assert.equal(await reasonOf(client.listMessages({ sessionId, order }, service.as())), 'REQUEST_INVALID')
  })

  test(`a page ends early rather than carry more than 4 MiB of files, and the next one goes on (${name})`, async () => {
    await using service = await openSessionRpc(connect)
    const { client, store } = service
    await client.createSession({ sessionId }, service.as())
    const big = { uri: 'size:1500000' }
    for (const messageId of ['msg_1', 'msg_2', 'msg_3', 'msg_4']) {
      await client.promptSession({ sessionId, messageId, text: 'see', files: [big] }, service.as())
    }
    const lease = await store.acquireLease('owner', 60_000)
    assert.ok(lease)
    await store.promote(lease, 'idle')
    const ids = ({ messages }: { messages: { messageId: string }[] }) => messages.map(({ messageId }) => messageId)
    const first = await client.listMessages({ sessionId }, service.as())
    assert.deepEqual(ids(first), ['msg_4', 'msg_3'])
    const second = await client.listMessages({ sessionId, pageToken: first.nextPageToken }, service.as())
    assert.deepEqual([ids(second), second.nextPageToken], [['msg_2', 'msg_1'], undefined])
    const back = await client.listMessages({ sessionId, pageToken: second.previousPageToken }, service.as())
    assert.deepEqual([ids(back), back.previousPageToken], [['msg_4', 'msg_3'], undefined])
  })

  test(`a page ends early rather than grow too large, and the next one goes on there (${name})`, async () => {
    await using service = await openSessionRpc(connect)
    const { client } = service
    await client.createSession({ sessionId }, service.as())
    const sent = Array.from({ length: 5 }, (_, n) => `msg_${n}`)
    // Three bytes each: more than a page holds.
    const text = '€'.repeat(1_048_576)
    for (const messageId of sent) await client.promptSession({ sessionId, messageId, text }, service.as())
    const lease = await service.store.acquireLease('owner', 60_000)
    assert.ok(lease)
    // Of long ones, few enter at once.
    while ((await service.store.promote(lease, 'idle')).messages.length > 0);
    const seen: string[] = []
    let pageToken: string | undefined
    do {
      const order = Order.ASCENDING
      const page = await client.listMessages({ sessionId, order, pageSize: 200, pageToken }, service.as())
      seen.push(...page.messages.map(({ messageId }) => messageId))
      pageToken = page.nextPageToken
    } while (pageToken !== undefined)
    assert.deepEqual(seen, sent)
  })
})
