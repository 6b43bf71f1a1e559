import assert from 'node:assert/strict'
import { test } from 'node:test'
import { FinishReason } from '#gen/portico/inference/v1/inference_pb.js'
import { Rejection } from '#shared/rejection.ts'
import { type FlatEvent, flat } from '#test/support/generation.ts'
import { openaiError } from './error.ts'
import { OpenaiMapper } from './mapper.ts'

/** Names that every JavaScript object inherits. */
const INHERITED = ['constructor', 'toString', '__proto__']

test('a finish reason with the name of a member of every object is unknown', () => {
  for (const word of INHERITED) {
    const mapper = new OpenaiMapper('p', [])
    mapper.whole({ choices: [{ message: { content: 'a' }, finish_reason: word }] })
    assert.deepEqual(flat(mapper.take()).at(-1), { case: 'finished', reason: FinishReason.OTHER, rawReason: word })
  }
})

test('takes an error type that every object inherits, such as “constructor”, for an unknown one', () => {
  for (const word of INHERITED) {
    const error = openaiError('p', { code: word, type: word, message: 'M' })
    assert.ok(error instanceof Rejection)
    assert.deepEqual([error.reason, error.metadata.status], ['PROVIDER_UNAVAILABLE', '502'])
  }
})

test('content may come in pieces, as Mistral’s models give it when they think', () => {
  const thinking = (text: string) => ({ type: 'thinking', thinking: [{ case: 'text', text }] })
  const text = (text: string) => ({ type: 'text', text })
  const partsOf = (events: readonly FlatEvent[]) =>
    events.flatMap((event) => (event.case === 'partEnded' ? [event.part] : []))
  const expected = [
    { case: 'reasoning', text: 'So it is.' },
    { case: 'text', text: 'It is so.' },
  ]
  const whole = new OpenaiMapper('p', [])
  const content = [thinking('So it is.'), text('It is so.'), { type: 'reference', reference_ids: [1] }]
  whole.whole({ choices: [{ message: { content }, finish_reason: 'stop' }] })
  assert.deepEqual(partsOf(flat(whole.take())), expected)
  const streamed = new OpenaiMapper('p', [])
  for (const content of [[thinking('So ')], [thinking('it is.')], [text('It ')], 'is so.']) {
    streamed.push(JSON.stringify({ choices: [{ delta: { content } }] }))
  }
  streamed.push('[DONE]')
  assert.deepEqual(partsOf(flat(streamed.take())), expected)
})

test('drops the place of a source that lies beyond any answer', () => {
  const cited = { url: 'https://x.example', start_index: 1e308, end_index: 2 ** 31 }
  const mapper = new OpenaiMapper('p', [])
  const message = { content: 'a', annotations: [{ type: 'url_citation', url_citation: cited }] }
  mapper.whole({ choices: [{ message, finish_reason: 'stop' }] })
  const source = flat(mapper.take()).find(({ case: name }) => name === 'source')
  assert.deepEqual(source, { case: 'source', partIndex: 0, url: cited.url })
})
