import assert from 'node:assert/strict'
import { test } from 'node:test'
import { killRounds } from './kill-rounds.ts'

test('an accepted prompt survives kill -9 at any moment (6 kills; 200: npm run soak:kill)', async (t) => {
  const report = await killRounds(6, Math.random)
  t.diagnostic(JSON.stringify(report))
  assert.ok(report.accepted > 20 && report.toolCalls > 0, 'too little happened to show anything')
})
