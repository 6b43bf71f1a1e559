import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Part, Message_Role as Role } from '#gen/portico/inference/v1/inference_pb.js'
import { asKey, openSessionService } from '#test/support/session-service.ts'
import { calls, text } from '#test/support/session-turns.ts'

test('the model sees a synthetic text as input, alone and among what users said', async () => {
  await using service = await openSessionService()
  await service.create()
  const { client, peers } = service
  const add = (messageId: string, text: string, more = {}) =>
    client.addSyntheticInput({ sessionId: 'ses_1', messageId, synthetic: { text }, ...more }, asKey)
  await add('msg_s1', 'The build failed')
  await service.wait()
  peers.turns.push(async function* (request, signal) {
    await add('msg_s2', 'It failed again')
    yield* calls({ id: 'a', name: 'look' })(request, signal)
  }, text('Seen'))
  await service.prompt('What now?')
  await service.wait()
  const seen = peers.requests
    .at(-1)
    ?.messages.slice(1)
    .map(({ role, parts }) => [Role[role], ...parts.map(saying)])
  assert.deepEqual(seen, [
    ['USER', 'The build failed'],
    ['ASSISTANT', 'Done.'],
    ['USER', 'What now?'],
    ['ASSISTANT', 'toolCall'],
    ['TOOL', 'toolResult'],
    ['USER', 'It failed again'],
  ])
  const order = (await service.messages()).map(({ kind }) => kind.case)
  assert.deepEqual(order, ['synthetic', 'assistant', 'idle', 'user', 'assistant', 'synthetic', 'assistant', 'idle'])
})

const saying = ({ part }: Part) => (part.case === 'text' ? part.value.text : part.case)
