import assert from 'node:assert/strict'
import test from 'node:test'
import { timedText } from './ids.ts'

test('timed texts sort by the millisecond in which they were made, and are random beyond that', () => {
  let now = Date.parse('2026-11-22T00:00:00Z')
  const clock = { now: () => now, monotonic: () => 0 }
  const texts: string[] = []
  for (const step of [0, 1, 1, 60, 62, 3_844, 31_536_000_000, 3_153_600_000_000]) {
    now += step
    texts.push(timedText(24, clock))
  }
  const [first = '', , ...later] = texts
  for (const text of texts) assert.match(text, /^[0-9A-Za-z]{24}$/)
  assert.deepEqual(later.toSorted(), later)
  for (const text of later) assert.ok(text > first)
  const many = Array.from({ length: 1_000 }, () => timedText(24, clock))
  assert.equal(new Set(many).size, 1_000)
  assert.equal(new Set(many.map((text) => text.slice(0, 8))).size, 1)
})
