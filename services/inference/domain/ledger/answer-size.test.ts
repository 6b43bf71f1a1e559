import assert from 'node:assert/strict'
import { test } from 'node:test'
import { create } from '@bufbuild/protobuf'
import { GenerationEventSchema, PartStarted_Kind as Kind } from '#gen/portico/inference/v1/inference_service_pb.js'
import type { ProviderEvent } from '../generation.ts'
import { AnswerSize } from './answer-size.ts'

const started = (index: number, kind: Kind): ProviderEvent =>
  create(GenerationEventSchema, { event: { case: 'partStarted', value: { index, kind } } })
const extended = (index: number, text: string): ProviderEvent =>
  create(GenerationEventSchema, { event: { case: 'partExtended', value: { index, text } } })
const withheld = (bytes: number): ProviderEvent => ({ event: { case: 'withheld', value: bytes } })
const words = (length: number) => 'word'.repeat(length / 4)

function sizeOf(maximum: number | undefined, ...events: ProviderEvent[]) {
  const size = new AnswerSize(maximum)
  for (const { event } of events) size.add(event)
  return { size, measured: [size.tokens, size.isTooLong] }
}

test('an answer is too long at four times its maximum and 4,000 tokens more, without its thoughts', () => {
  const { size, measured } = sizeOf(
    1_000,
    started(0, Kind.REASONING),
    extended(0, words(30_000)),
    started(1, Kind.TEXT),
  )
  assert.deepEqual(measured, [10_000, false])
  size.add(extended(1, words(15_000)).event)
  assert.deepEqual([size.tokens, size.isTooLong], [11_000, false])
  size.add(extended(1, 'abc').event)
  assert.deepEqual([size.tokens, size.isTooLong], [15_001, true])
  assert.deepEqual(sizeOf(undefined, extended(0, words(30_000))).measured, [10_000, false])
})

test('counts output that no client gets only up to the maximum', () => {
  assert.deepEqual(sizeOf(1_000, extended(0, 'abc'), withheld(2_700)).measured, [901, false])
  assert.deepEqual(sizeOf(1_000, extended(0, 'abc'), withheld(300_000)).measured, [1_000, false])
  assert.deepEqual(sizeOf(1_000, extended(0, words(15_000)), extended(0, 'abc'), withheld(3_000)).measured, [
    5_001,
    true,
  ])
  assert.deepEqual(sizeOf(undefined, extended(0, 'abc'), withheld(300_000)).measured, [100_001, false])
})
