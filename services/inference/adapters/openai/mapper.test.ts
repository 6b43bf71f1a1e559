import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { GenerationEvent } from '#services/inference/domain/generation.ts'
import { Rejection } from '#shared/rejection.ts'
import { openaiError } from './error.ts'
import { OpenaiMapper } from './mapper.ts'

/** Names that every JavaScript object inherits. */
const INHERITED = ['constructor', 'toString', '__proto__']

test('a reason that is a member of every object is as unknown as any other', () => {
  for (const word of INHERITED) {
    const mapper = new OpenaiMapper('p', [])
    mapper.whole({ choices: [{ message: { content: 'a' }, finish_reason: word }] })
    assert.deepEqual(mapper.take().at(-1), { type: 'finished', reason: 'other', rawReason: word })
  }
})

test('the same holds for the type of an error', () => {
  for (const word of INHERITED) {
    const error = openaiError('p', { code: word, type: word, message: 'M' })
    assert.ok(error instanceof Rejection)
    assert.deepEqual([error.reason, error.metadata.status], ['PROVIDER_UNAVAILABLE', '502'])
  }
})

test('content may come in pieces, as Mistral’s models give it when they think', () => {
  const thinking = (text: string) => ({ type: 'thinking', thinking: [{ type: 'text', text }] })
  const text = (text: string) => ({ type: 'text', text })
  const partsOf = (events: readonly GenerationEvent[]) =>
    events.flatMap((event) => (event.type === 'part-ended' ? [event.part] : []))
  const expected = [
    { type: 'reasoning', text: 'So it is.' },
    { type: 'text', text: 'It is so.' },
  ]
  const whole = new OpenaiMapper('p', [])
  const content = [thinking('So it is.'), text('It is so.'), { type: 'reference', reference_ids: [1] }]
  whole.whole({ choices: [{ message: { content }, finish_reason: 'stop' }] })
  assert.deepEqual(partsOf(whole.take()), expected)
  const streamed = new OpenaiMapper('p', [])
  for (const content of [[thinking('So ')], [thinking('it is.')], [text('It ')], 'is so.']) {
    streamed.push(JSON.stringify({ choices: [{ delta: { content } }] }))
  }
  streamed.push('[DONE]')
  assert.deepEqual(partsOf(streamed.take()), expected)
})

test('a place of a source that no answer could have is none', () => {
  const cited = { url: 'https://x.example', start_index: 1e308, end_index: 2 ** 31 }
  const mapper = new OpenaiMapper('p', [])
  const message = { content: 'a', annotations: [{ type: 'url_citation', url_citation: cited }] }
  mapper.whole({ choices: [{ message, finish_reason: 'stop' }] })
  const source = mapper.take().find(({ type }) => type === 'source')
  const place = { start: undefined, end: undefined }
  const rest = { partIndex: 0, url: cited.url, title: undefined, citedText: undefined }
  assert.deepEqual(source, { type: 'source', source: { ...rest, ...place } })
})
