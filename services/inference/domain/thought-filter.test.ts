import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Part } from './conversation.ts'
import type { MeteredEvent } from './meter.ts'
import { ThoughtFilter } from './thought-filter.ts'

const start = (index: number, kind: 'reasoning' | 'reasoning-summary' | 'text' | 'tool-call'): MeteredEvent => ({
  type: 'part-started',
  index,
  kind,
})
const grow = (index: number, text: string): MeteredEvent => ({ type: 'part-extended', index, text })
const end = (index: number, part: Part): MeteredEvent => ({ type: 'part-ended', index, part })
const source = (partIndex: number): MeteredEvent => {
  const nothing = { title: undefined, start: undefined, end: undefined, citedText: undefined }
  return { type: 'source', source: { partIndex, url: 'https://a.test/', ...nothing } }
}

test('thoughts are left out, the other parts are numbered without them, and calls keep their proofs', () => {
  const filter = new ThoughtFilter()
  const started: MeteredEvent = { type: 'started', warnings: [] }
  const call = { type: 'tool-call', callId: 'c', name: 'f', arguments: '{}', signature: 's', format: 'x' } as const
  const left = [
    [started, start(0, 'reasoning'), grow(0, 'secret')],
    [end(0, { type: 'reasoning', text: 'secret', signature: 'secret' }), start(1, 'reasoning-summary')],
    [start(2, 'text'), grow(1, 'secret'), grow(2, 'a'), end(2, { type: 'text', text: 'a' }), source(2), source(1)],
    [end(1, { type: 'reasoning', summary: 'secret' })],
    [start(3, 'tool-call'), end(3, call)],
  ].map((batch) => filter.take(batch))
  assert.deepEqual(left, [
    [started],
    [],
    [start(0, 'text'), grow(0, 'a'), end(0, { type: 'text', text: 'a' }), source(0)],
    [],
    [start(1, 'tool-call'), end(1, call)],
  ])
})
