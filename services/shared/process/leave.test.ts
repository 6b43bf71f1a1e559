import assert from 'node:assert/strict'
import { test } from 'node:test'
import { leave } from './leave.ts'

test('makes all services unready at once, then drains them in parallel, each with its full time', async () => {
  const seen: string[] = []
  const both = Promise.withResolvers<void>()
  let draining = 0
  const part = (name: string) => ({
    unready: () => void seen.push(`${name} unready`),
    drain: async (ms: number) => {
      seen.push(`${name} has ${ms}`)
      if (++draining === 2) both.resolve()
      await both.promise
    },
  })
  const left = leave({ unreadyMs: 50, drainMs: 7 }, [part('a'), part('b')])
  assert.deepEqual(seen, ['a unready', 'b unready'])
  await left
  assert.deepEqual(seen, ['a unready', 'b unready', 'a has 7', 'b has 7'])
})
