import assert from 'node:assert/strict'
import { test } from 'node:test'
import { mixedRounds } from './mixed-rounds.ts'

const elsewhere = process.platform === 'linux' ? false : 'what a process holds is read from /proc'

test('a mixed load leaves nothing behind (10 s; 13 minutes: npm run soak:mixed)', { skip: elsewhere }, async (t) => {
  const { done, ...held } = await mixedRounds(10, Math.random)
  t.diagnostic(JSON.stringify({ done, ...held }))
  assert.ok(
    Object.values(done).every((count) => count > 0),
    'too little happened to show anything',
  )
})
