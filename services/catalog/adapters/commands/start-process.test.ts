import assert from 'node:assert/strict'
import { once } from 'node:events'
import { test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { longSleep, processesWith } from '#test/support/catalog.ts'
import { waitFor } from '#test/support/wait-until.ts'
import { ReapedCommand } from './reaped-command.ts'
import { startProcess } from './start-process.ts'

test('starts one process in each turn of the event loop when many are wanted at once', async () => {
  let turn = 0
  let counting: NodeJS.Immediate
  const count = (): void => {
    turn++
    counting = setImmediate(count)
  }
  counting = setImmediate(count)
  const started = await Promise.all(
    Array.from({ length: 10 }, async () => {
      const child = await startProcess('/bin/sh', ['-c', 'exit'], { stdio: 'ignore' })
      return { turn, ended: once(child, 'exit') }
    }),
  )
  clearImmediate(counting)
  await Promise.all(started.map(({ ended }) => ended))
  assert.equal(new Set(started.map(({ turn }) => turn)).size, 10)
})

test('a supervisor that is silent after its start is given up and ended', async (t) => {
  const tag = longSleep()
  const silent = { program: '/bin/sh', words: ['-c', `exec sleep ${tag}`] }
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const options = { shell: '/bin/sh', command: 'exit', directory: '/', environment: { PATH: process.env.PATH ?? '' } }
  const refused = assert.rejects(ReapedCommand.start(silent, options), /The system cannot start a process now/)
  const running = async () => (await processesWith(tag)).length
  while ((await running()) === 0) await nextTurn()
  t.mock.timers.tick(10_000)
  await refused
  t.mock.timers.reset()
  await waitFor('its end', async () => (await running()) === 0)
})
