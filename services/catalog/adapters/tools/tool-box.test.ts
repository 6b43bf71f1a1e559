import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import type { Location } from '#gen/portico/catalog/v1/catalog_pb.js'
import { textContent } from '#services/catalog/domain/tool-outcome.ts'
import { GuardedFiles } from '../files/guarded-files.ts'
import { objectSchema, type Tool, textOf } from './tool.ts'
import { ToolBox } from './tool-box.ts'

test('the time of a call begins when it may start, and its place is given back when it has ended', async () => {
  let given = 0
  const tool: Tool<object> = {
    ...{ name: 'late', description: '', inputSchema: objectSchema({}, []) },
    plan: async () => ({
      ...{ accesses: [], timeoutMs: 5 },
      begin: async () => {
        await delay(50)
        return { [Symbol.dispose]: () => void given++ }
      },
      run: async ({ signal }) => {
        assert.equal(given, 0)
        return textOf(signal.aborted ? 'too late' : 'in time')
      },
    }),
  }
  const box = new ToolBox([tool], new GuardedFiles('/', '/', async () => []))
  const call = await box.prepare({ directory: '/' } as Location, 'late', {})
  const outcome = await call.run(new AbortController().signal, () => {}, { sessionId: 's', callId: 'c' })
  assert.deepEqual([outcome.value.content, given], [[textContent('in time')], 1])
})
