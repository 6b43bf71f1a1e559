import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { GenerationEvent } from '#services/inference/domain/generation.ts'
import { Excess } from './excess.ts'

const started = (index: number, kind: 'text' | 'reasoning'): GenerationEvent => ({ type: 'part-started', index, kind })
const extended = (index: number, length: number): GenerationEvent => ({
  ...{ type: 'part-extended', index, text: 'a'.repeat(length) },
})

test('an answer is far too long at four times its maximum and 4,000 tokens more, without its thoughts', () => {
  const excess = new Excess(1_000)
  assert.equal(excess.isUp([started(0, 'reasoning'), extended(0, 1_000_000)]), false)
  assert.equal(excess.isUp([started(1, 'text'), extended(1, 15_000)]), false)
  assert.equal(excess.isUp([extended(1, 1)]), true)
  assert.equal(new Excess(undefined).isUp([extended(0, 1_000_000)]), false)
})
