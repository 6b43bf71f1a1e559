import assert from 'node:assert/strict'
import { once } from 'node:events'
import { test } from 'node:test'
import { startProcess } from './start-process.ts'

test('of many processes that are wanted at once, one is started in a turn of the event loop', async () => {
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
