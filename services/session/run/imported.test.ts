import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Message_Role as Role } from '#gen/portico/inference/v1/inference_pb.js'
import { Compaction_Status, ShellCommand_Status } from '#gen/portico/session/v1/message_pb.js'
import { importedMessages } from '#test/support/imported-messages.ts'
import { asKey, openSessionService } from '#test/support/session-service.ts'
import { text } from '#test/support/session-turns.ts'

test('the model sees what follows the last summary of an imported conversation, commands and instructions included', async () => {
  await using service = await openSessionService()
  const { client, peers } = service
  const session = { sessionId: 'ses_1', title: 'Test', createTime: 1 }
  const summed = { status: Compaction_Status.COMPLETED, summary: 'They met', recent: '' }
  const shell = { shellId: 'sh_1', command: 'ls', status: ShellCommand_Status.EXITED }
  const messages = [
    { case: 'system', value: { text: 'Old instructions' } },
    { case: 'compaction', value: summed },
    { case: 'system', value: { text: 'Be brief' } },
    { case: 'skill', value: { skillId: 'tidy', name: 'Tidy', text: 'Clean up' } },
    { case: 'shell', value: shell },
  ] as const
  const sent = messages.map((kind, i) => ({ messageId: `msg_i${i}`, createTime: 1, kind }))
  await client.importSession({ session, directory: '/project', messages: importedMessages(sent) }, asKey)
  peers.turns.push(text('Done'))
  await service.prompt('And now?')
  await service.wait()
  const seen = peers.requests
    .at(-1)
    ?.messages.slice(1)
    .map(({ role, parts: [part] }) => [Role[role], part?.part.case === 'text' ? part.part.value.text : ''])
  const [summary, ...rest] = seen ?? []
  assert.match(summary?.[1] ?? '', /They met/)
  assert.deepEqual(rest, [
    ['SYSTEM', 'Be brief'],
    ['USER', 'Clean up'],
    ['USER', 'Shell command: ls\n\n'],
    ['USER', 'And now?'],
  ])
})
