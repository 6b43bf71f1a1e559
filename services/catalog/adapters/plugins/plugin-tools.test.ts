import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Location } from '#gen/portico/catalog/v1/catalog_pb.js'
import { Places } from '#shared/places.ts'
import { plain } from '#test/support/inference.ts'
import type { CallOptions } from './make-call.ts'
import type { Plugin } from './plugin.ts'
import { PluginTools } from './plugin-tools.ts'

test('a call of a tool ends when it is silent for two minutes, and one that reports after ten', async (t) => {
  const LIMITS = [
    { reports: false, seconds: 120, message: 'It was silent for more than 120 s and was ended' },
    { reports: true, seconds: 600, message: 'It took longer than 600 s and was ended' },
  ]
  t.mock.timers.enable({ apis: ['setTimeout'] })
  for (const { reports, seconds, message } of LIMITS) {
    let report = (): void => {}
    let began = 0
    const call = async (name: string, _: unknown, { signal, progress }: CallOptions) => {
      if (name === 'validate') return null
      report = () => progress?.({})
      began++
      return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
    }
    const plugin = { call, declared: { key: 'plugin' }, places: new Places(1) } as unknown as Plugin
    const tool = { name: 'hang', description: '', inputSchema: {}, permission: undefined }
    const tools = new PluginTools([{ name: 'hang', plugin, tool }], 1_000)
    const prepared = await tools.prepare({ directory: '/' } as Location, 'hang', {})
    let outcome: unknown
    const run = () => prepared.run(new AbortController().signal, () => {}, { sessionId: 'ses_1', callId: 'call_1' })
    void run().then((ended) => {
      outcome = ended
    })
    void run()
    for (let second = 0; second < seconds; second++) {
      await new Promise(setImmediate)
      assert.deepEqual([outcome, began], [undefined, 1], 'the other one waits for its turn')
      if (reports) report()
      t.mock.timers.tick(1_000)
    }
    await new Promise(setImmediate)
    assert.deepEqual(plain(outcome), { case: 'failed', value: { type: 'timeout', message, content: [], metadata: {} } })
    assert.equal(began, 2)
  }
})
