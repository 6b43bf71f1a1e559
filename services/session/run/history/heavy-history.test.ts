import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { MessageInitShape } from '@bufbuild/protobuf'
import { Compaction_Status, type MessageSchema } from '#gen/portico/session/v1/message_pb.js'
import { Outcome } from '#gen/portico/session/v1/session_pb.js'
import { importedMessages } from '#test/support/imported-messages.ts'
import { asKey, openSessionService, type SessionFixture } from '#test/support/session-service.ts'

const MIB = 1_048_576
type Kind = NonNullable<MessageInitShape<typeof MessageSchema>['kind']>

const said = (bytes: number): Kind => ({ case: 'user', value: { text: 'x'.repeat(bytes) } })
const model = { providerId: 'test', modelId: 'model' }
const steps = (parts: number): Kind => {
  const value = { agent: 'build', model, finish: 'stop', completeTime: 1 }
  return { case: 'assistant', value: { ...value, parts: Array(parts).fill({ part: { case: 'text', value: {} } }) } }
}
const summary: Kind = { case: 'compaction', value: { status: Compaction_Status.COMPLETED, summary: 'All', recent: '' } }

/** A session that was imported with these messages. */
async function imported({ client }: SessionFixture, sessionId: string, kinds: readonly Kind[]): Promise<void> {
  const session = { sessionId, title: 'Test', createTime: 1, permissions: { rules: [] } }
  const messages = kinds.map((kind, at) => ({
    messageId: `msg_${sessionId}_${at}`,
    createTime: 1,
    kind,
  }))
  await client.importSession({ session, directory: '/project', messages: importedMessages(messages) }, asKey)
}

test('a run reads a whole heavy history', async () => {
  await using service = await openSessionService()
  await imported(service, 'ses_1', Array(9).fill(said(2 * MIB)))
  await service.prompt('Go on')
  await service.wait()
  assert.equal(await service.outcome(), Outcome.SUCCEEDED)
  const shown = service.peers.requests[0]?.messages.flatMap(({ parts }) =>
    parts.map(({ part }) => (part.case === 'text' ? part.value.text.length : 0)),
  )
  assert.deepEqual(shown?.slice(1), [...Array(9).fill(2 * MIB), 'Go on'.length])
})

for (const [why, kinds] of Object.entries({
  bytes: Array(11).fill(said(2 * MIB)),
  parts: Array(12).fill(steps(2_000)),
})) {
  test(`a history of too many ${why} for any model is summarized before the first step, and the next run reads the summary`, async () => {
    await using service = await openSessionService()
    await imported(service, 'ses_1', kinds)
    const { peers } = service
    for (const words of ['Go on', 'Once more']) {
      await service.prompt(words)
      await service.wait()
      assert.equal(await service.outcome(), Outcome.SUCCEEDED)
    }
    assert.deepEqual(
      peers.requests.map(({ origin }) => origin),
      ['compaction', 'session', 'session'],
    )
    const sizes = peers.requests.map(({ messages }) =>
      messages.reduce((sum, each) => sum + JSON.stringify(each.parts).length, 0),
    )
    for (const size of sizes) assert.ok(size < MIB, `${size}`)
    const compaction = (await service.messages()).find(({ kind }) => kind.case === 'compaction')?.kind
    assert.doesNotMatch((compaction?.case === 'compaction' && compaction.value.recent) || '', /Go on/)
    assert.deepEqual(
      peers.requests[1]?.messages.at(-1)?.parts.map(({ part }) => part.case === 'text' && part.value.text),
      ['Go on'],
    )
  })
}

test('summarized messages do not count', async () => {
  await using service = await openSessionService()
  await imported(service, 'ses_1', [...Array(11).fill(said(2 * MIB)), summary])
  await service.prompt('Go on')
  await service.wait()
  assert.equal(await service.outcome(), Outcome.SUCCEEDED)
  assert.equal(service.peers.requests.length, 1)
})
