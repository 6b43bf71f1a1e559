import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { GenerationEvent } from '../generation.ts'
import { AnswerSize } from './answer-size.ts'

const started = (index: number, kind: 'text' | 'reasoning'): GenerationEvent => ({ type: 'part-started', index, kind })
const extended = (index: number, text: string): GenerationEvent => ({ type: 'part-extended', index, text })
const withheld = (bytes: number): GenerationEvent => ({ type: 'withheld', bytes })
const words = (length: number) => 'word'.repeat(length / 4)

function sizeOf(maximum: number | undefined, ...events: GenerationEvent[]) {
  const size = new AnswerSize(maximum)
  for (const event of events) size.add(event)
  return { size, measured: [size.tokens, size.isTooLong] }
}

test('an answer is too long at four times its maximum and 4,000 tokens more, without its thoughts', () => {
  const { size, measured } = sizeOf(1_000, started(0, 'reasoning'), extended(0, words(30_000)), started(1, 'text'))
  assert.deepEqual(measured, [10_000, false])
  size.add(extended(1, words(15_000)))
  assert.deepEqual([size.tokens, size.isTooLong], [11_000, false])
  size.add(extended(1, 'abc'))
  assert.deepEqual([size.tokens, size.isTooLong], [15_001, true])
  assert.deepEqual(sizeOf(undefined, extended(0, words(30_000))).measured, [10_000, false])
})

test('a hundred equal characters may be one token, whether they come together or not', () => {
  assert.deepEqual(sizeOf(1_000, extended(0, ' '.repeat(500_000))).measured, [1_000, false])
  assert.deepEqual(sizeOf(1_000, ...Array<GenerationEvent>(50_000).fill(extended(0, ' '))).measured, [1_000, false])
  assert.equal(sizeOf(1_000, extended(0, ' '.repeat(500_001))).size.isTooLong, true)
})

test('of what nobody gets, only what fits into the maximum counts', () => {
  assert.deepEqual(sizeOf(1_000, extended(0, 'abc'), withheld(2_700)).measured, [901, false])
  assert.deepEqual(sizeOf(1_000, extended(0, 'abc'), withheld(300_000)).measured, [1_000, false])
  assert.deepEqual(sizeOf(1_000, extended(0, words(15_000)), extended(0, 'abc'), withheld(3_000)).measured, [
    5_001,
    true,
  ])
  assert.deepEqual(sizeOf(undefined, extended(0, 'abc'), withheld(300_000)).measured, [100_001, false])
})
