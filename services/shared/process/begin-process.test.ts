import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { readSingleProcessConfig } from '#shared/config/process-config.ts'
import { lazyModule } from '#shared/lazy/lazy-module.ts'
import { beginProcess } from './begin-process.ts'

test('ten seconds after all is open, a process loads what nobody has used yet, unless it has ended', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const env = { PORTICO_WATCHDOG_SECONDS: '0', PORTICO_LOG_LEVEL: 'fatal' }
  const begin = (resources: AsyncDisposableStack) =>
    beginProcess('test', { settings: {}, process: readSingleProcessConfig(env), env }, resources)
  let loaded = 0
  lazyModule(async () => {
    loaded += 1
  })
  const ended = new AsyncDisposableStack()
  ;(await begin(ended)).opened()
  await ended.disposeAsync()
  await using resources = new AsyncDisposableStack()
  const { opened } = await begin(resources)
  t.mock.timers.tick(10_000)
  await setImmediate()
  assert.equal(loaded, 0)
  opened()
  t.mock.timers.tick(9_999)
  await setImmediate()
  assert.equal(loaded, 0)
  t.mock.timers.tick(1)
  await setImmediate()
  assert.equal(loaded, 1)
})
