import assert from 'node:assert/strict'
import { once } from 'node:events'
import { tmpdir } from 'node:os'
import { test } from 'node:test'
import type { StartCommand } from './command.ts'
import { findSupervisor } from './find-supervisor.ts'
import { ReapedCommand } from './reaped-command.ts'
import { SupervisedCommand } from './supervised-command.ts'

const PATH = process.env.PATH ?? '/usr/bin:/bin'
const starters = new Map<string, StartCommand>([
  ['a mark alone', (options) => SupervisedCommand.start(options, tmpdir())],
])
const supervisor = await findSupervisor(PATH)
if (supervisor !== undefined) starters.set('perl', (options) => ReapedCommand.start(supervisor, options))

for (const [name, start] of starters) {
  test(`carries both directions of a channel apart from the output, and ends it when our end closes (${name})`, async () => {
    const options = { shell: '/bin/sh', command: 'cat <&4 >&4; echo over >&2', directory: '/', environment: { PATH } }
    await using command = await start({ ...options, channel: true })
    command.channel?.end('hello')
    let read = ''
    for await (const chunk of command.channel ?? []) {
      read += chunk
      if (read === 'hello') break
    }
    assert.equal(read, 'hello')
    assert.equal(String((await once(command.output, 'data'))[0]), 'over\n')
    assert.deepEqual(await command.ended, { code: 0, signal: null })
  })
}
