import assert from 'node:assert/strict'
import { test } from 'node:test'
import { create } from '@bufbuild/protobuf'
import type { Part } from '#gen/portico/inference/v1/inference_pb.js'
import { GenerationEventSchema, PartStarted_Kind as Kind } from '#gen/portico/inference/v1/inference_service_pb.js'
import { part } from '#test/support/generation.ts'
import { ThoughtFilter } from './thought-filter.ts'

const start = (index: number, kind: Kind) =>
  create(GenerationEventSchema, { event: { case: 'partStarted', value: { index, kind } } })
const grow = (index: number, text: string) =>
  create(GenerationEventSchema, { event: { case: 'partExtended', value: { index, text } } })
const end = (index: number, part: Part) =>
  create(GenerationEventSchema, { event: { case: 'partEnded', value: { index, part } } })
const source = (partIndex: number) =>
  create(GenerationEventSchema, { event: { case: 'source', value: { partIndex, url: 'https://a.test/' } } })

test('leaves thoughts out, numbers the other parts without them, and keeps the proofs of calls', () => {
  const filter = new ThoughtFilter()
  const started = create(GenerationEventSchema, { event: { case: 'started', value: {} } })
  const call = part('toolCall', { callId: 'c', name: 'f', arguments: '{}', signature: 's', format: 'x' })
  const text = part('text', { text: 'a' })
  const secret = part('reasoning', { text: 'secret', signature: 'secret' })
  const left = [
    [started, start(0, Kind.REASONING), grow(0, 'secret')],
    [end(0, secret), start(1, Kind.REASONING_SUMMARY)],
    [start(2, Kind.TEXT), grow(1, 'secret'), grow(2, 'a'), end(2, text), source(2), source(1)],
    [end(1, part('reasoning', { summary: 'secret' }))],
    [start(3, Kind.TOOL_CALL), end(3, call)],
  ].map((batch) => filter.take(batch))
  assert.deepEqual(left, [
    [started],
    [],
    [start(0, Kind.TEXT), grow(0, 'a'), end(0, text), source(0)],
    [],
    [start(1, Kind.TOOL_CALL), end(1, call)],
  ])
})
