import assert from 'node:assert/strict'
import { test } from 'node:test'
import { create } from '@bufbuild/protobuf'
import { TokenUsageSchema } from '#gen/portico/session/v1/session_pb.js'
import { assistant } from '#test/contract/session-store.support.ts'
import { refusalOf } from '#test/support/rejects.ts'
import { openSessionRpc } from '#test/support/session-rpc.ts'
import type { UseCases } from '#test/support/session-use-cases.ts'
import { stepPart } from '#test/support/step-part.ts'
import { connectLocal, forEachTransport } from '#test/support/transports.ts'

const sessionId = 'ses_a'

forEachTransport((name, connect) => {
  test(`a fork has the settled history of its source, under new ids, and no cost (${name})`, async () => {
    await using service = await openSessionRpc(connect)
    const { client, store } = service
    const as = service.as()
    await client.createSession({ sessionId, title: 'Lexer', agent: 'plan', metadata: { a: 1 } }, as)
    await client.promptSession({ sessionId, messageId: 'msg_1', text: 'one', files: [{ uri: 'a' }] }, as)
    const lease = await store.acquireLease('owner', 60_000)
    assert.ok(lease)
    await store.promote(lease, 'idle')
    const tokens = create(TokenUsageSchema, { input: 1, output: 2, reasoning: 3, cacheRead: 4, cacheWrite: 5 })
    const done = assistant('msg_done', {
      parts: [stepPart('text', { text: 'Done.' })],
      completeTime: 5,
      finish: 'stop',
    })
    await store.recordStep(lease, { message: done, events: [], usage: { costNanos: 7n, tokens } })
    await store.recordStep(lease, { message: assistant('msg_open'), events: [] })
    service.clock.time += 1_000
    const { session } = await client.forkSession({ sessionId, forkId: 'ses_b' }, as)
    assert.ok(session)
    const source = (await client.getSession({ sessionId }, as)).session
    const { sessionId: id, title, agent, metadata, costNanos, parentId, outcome, idleTime, fork } = session
    assert.deepEqual([id, title, agent, metadata], ['ses_b', 'Lexer (fork #1)', 'plan', { a: 1 }])
    assert.deepEqual(
      [costNanos, session.tokens?.input, parentId, outcome, idleTime],
      [0n, 0, undefined, undefined, undefined],
    )
    assert.deepEqual([fork?.sessionId, fork?.messageId, fork?.through], [sessionId, 'msg_open', true])
    assert.notDeepEqual(session.createTime, source?.createTime)
    const copied = (await client.listMessages({ sessionId: 'ses_b', order: 2 }, as)).messages
    const original = (await client.listMessages({ sessionId, order: 2 }, as)).messages
    assert.deepEqual(
      copied.map(({ kind }) => kind),
      original.slice(0, 2).map(({ kind }) => kind),
    )
    assert.deepEqual(
      copied.map(({ createTime }) => createTime),
      original.slice(0, 2).map(({ createTime }) => createTime),
    )
    for (const { messageId } of copied) assert.match(messageId, /^msg_[0-9a-f]{14}\w{12}_\d+$/)
    const again = await client.forkSession({ sessionId: 'ses_b', forkId: 'ses_c' }, as)
    assert.equal(again.session?.title, 'Lexer (fork #2)')
    await client.promptSession({ sessionId: 'ses_b', messageId: 'msg_2', text: 'goes on' }, as)
  })

  test(`a fork ends before a message, and its only event says so (${name})`, async () => {
    await using service = await openSessionRpc(connect)
    const { client } = service
    const as = service.as()
    await client.createSession({ sessionId }, as)
    for (const agent of ['a', 'b', 'c']) await client.switchSessionAgent({ sessionId, agent }, as)
    const { messages } = await client.listMessages({ sessionId, order: 2 }, as)
    const ids = messages.map(({ messageId }) => messageId)
    const stream = client.streamEvents({}, as)[Symbol.asyncIterator]()
    await stream.next()
    for (const [n, before] of ids.entries()) {
      const forkId = `ses_${n}`
      const { session } = await client.forkSession({ sessionId, forkId, beforeMessageId: before }, as)
      assert.deepEqual([session?.fork?.messageId, session?.fork?.through], [before, false])
      assert.equal((await client.listMessages({ sessionId: forkId }, as)).messages.length, n)
      const { value } = await stream.next()
      assert.ok(value?.message.case === 'event' && value.message.value.event.case === 'sessionForked')
      const { fork } = value.message.value.event.value
      assert.deepEqual([value.message.value.sessionId, fork?.sessionId, fork?.messageId], [forkId, sessionId, before])
    }
    await stream.return?.()
  })

  test(`a missing or empty session cannot be forked, nor any before a missing message (${name})`, async () => {
    await using service = await openSessionRpc(connect)
    const { client } = service
    const as = service.as()
    const refused = async (request: object, caller = as) => {
      const { reason, metadata } = await refusalOf(
        client.forkSession({ sessionId, forkId: 'ses_b', ...request }, caller),
      )
      return [reason, metadata]
    }
    assert.deepEqual(await refused({}), ['SESSION_NOT_FOUND', { session_id: sessionId }])
    await client.createSession({ sessionId }, as)
    assert.deepEqual(await refused({}), ['SESSION_EMPTY', { session_id: sessionId }])
    await client.switchSessionAgent({ sessionId, agent: 'a' }, as)
    assert.deepEqual(await refused({}, service.as('wrk_2')), ['SESSION_NOT_FOUND', { session_id: sessionId }])
    const missing = ['MESSAGE_NOT_FOUND', { session_id: sessionId, message_id: 'msg_none' }]
    assert.deepEqual(await refused({ beforeMessageId: 'msg_none' }), missing)
    assert.equal((await refused({ forkId: 'x' }))[0], 'REQUEST_INVALID')
    assert.equal((await refused({}, service.as('wrk_2')))[0], 'SESSION_NOT_FOUND')
    assert.equal((await refusalOf(client.getSession({ sessionId: 'ses_b' }, as))).reason, 'SESSION_NOT_FOUND')
  })
})

/** Resolves once two batches of a copy are written. */
async function middleOfCopy(store: UseCases): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  const { appendStaged } = store
  let batches = 0
  store.appendStaged = async (...batch) => {
    await appendStaged(...batch)
    if (++batches === 2) resolve()
  }
  await promise
  store.appendStaged = appendStaged
}

test('a long history is copied in turns, and nothing stays when its caller leaves or its source is removed', async () => {
  await using service = await openSessionRpc(connectLocal)
  const { client, store } = service
  const as = service.as()
  await client.createSession({ sessionId }, as)
  await Promise.all(Array.from({ length: 700 }, (_, i) => client.switchSessionAgent({ sessionId, agent: `a${i}` }, as)))
  const { session } = await client.forkSession({ sessionId, forkId: 'ses_b' }, as)
  assert.equal(session?.sessionId, 'ses_b')
  const last = (await client.listMessages({ sessionId: 'ses_b', pageSize: 1 }, as)).messages[0]
  assert.ok(last?.kind.case === 'agentSwitched' && last.kind.value.agent === 'a699')
  const gone = new AbortController()
  const left = client.forkSession({ sessionId, forkId: 'ses_c' }, { ...as, signal: gone.signal })
  await middleOfCopy(store)
  gone.abort()
  await assert.rejects(left)
  const forked = refusalOf(client.forkSession({ sessionId, forkId: 'ses_d' }, as))
  await middleOfCopy(store)
  await client.removeSession({ sessionId }, as)
  assert.equal((await forked).reason, 'SESSION_NOT_FOUND')
  for (const id of ['ses_c', 'ses_d']) assert.equal(await store.getSession('wrk_1', id), undefined)
})
