import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Location } from '#services/catalog/domain/location.ts'
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
    const call = async (name: string, _: unknown, { signal, progress }: CallOptions) => {
      if (name === 'validate') return null
      report = () => progress?.({})
      return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
    }
    const plugin = { call, declared: { key: 'plugin' } } as unknown as Plugin
    const tool = { name: 'hang', description: '', inputSchema: {}, permission: undefined }
    const tools = new PluginTools([{ name: 'hang', plugin, tool }], 1_000)
    const prepared = await tools.prepare({ directory: '/' } as Location, 'hang', {})
    let outcome: unknown
    void prepared
      .run(new AbortController().signal, () => {}, { sessionId: 'ses_1', callId: 'call_1' })
      .then((ended) => {
        outcome = ended
      })
    for (let second = 0; second < seconds; second++) {
      await Promise.resolve()
      assert.equal(outcome, undefined)
      if (reports) report()
      t.mock.timers.tick(1_000)
    }
    await new Promise(setImmediate)
    assert.deepEqual(outcome, { type: 'failed', kind: 'timeout', message, content: [], metadata: {} })
  }
})
