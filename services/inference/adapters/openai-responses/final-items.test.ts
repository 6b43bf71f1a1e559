// What a stream lacks of the final response is added, and what it repeats is not, however a server names its items.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { FinishReason } from '#gen/portico/inference/v1/inference_pb.js'
import { flat } from '#test/support/generation.ts'
import { ResponsesMapper } from './mapper.ts'

/** The parts, the texts as they grew, and the reason of a streamed answer. */
function streamed(events: readonly object[]) {
  const mapper = new ResponsesMapper('p', [])
  for (const event of events) mapper.push(JSON.stringify(event))
  mapper.end()
  const happened = flat(mapper.take())
  const parts = happened.flatMap((event) => (event.case === 'partEnded' ? [Object(event.part)] : []))
  return [parts.map(({ case: kind, text, arguments: call }) => [kind, text ?? call]), Object(happened.at(-1)).reason]
}

const delta = (delta: string, more: object = { output_index: 0, item_id: 'm' }) => ({
  ...{ type: 'response.output_text.delta', content_index: 0, delta, ...more },
})
const message = (text: string, id?: string) => ({
  ...{ type: 'message', id, role: 'assistant', content: [{ type: 'output_text', text }] },
})
const call = (json: string, id = 'f') => ({ type: 'function_call', id, call_id: 'c', name: 'get', arguments: json })
const thought = { type: 'reasoning', id: 'r', content: [{ type: 'reasoning_text', text: 'Hm.' }] }
const added = (item: object, index?: number) => ({ type: 'response.output_item.added', output_index: index, item })
const done = (item: object, index?: number) => ({ type: 'response.output_item.done', output_index: index, item })
const completed = (...output: object[]) => ({ type: 'response.completed', response: { status: 'completed', output } })

test('a text whose end the stream lacks is completed from the final response', () => {
  for (const id of ['m', 'other', undefined]) {
    for (const name of [{ output_index: 0, item_id: 'm' }, { output_index: 0 }, { item_id: 'm' }, {}]) {
      const events = [delta('Hello ', name), completed(message('Hello world', id))]
      assert.deepEqual(streamed(events), [[['text', 'Hello world']], FinishReason.STOP])
    }
  }
})

test('an item that only the final response contains is added', () => {
  const events = [delta('Hi'), done(message('Hi', 'm'), 0), completed(message('Hi', 'm'), call('{"a":1}'))]
  const parts = [
    ['text', 'Hi'],
    ['toolCall', '{"a":1}'],
  ]
  assert.deepEqual(streamed(events), [parts, FinishReason.TOOL_CALLS])
  const late = { type: 'response.function_call_arguments.delta', output_index: 1, item_id: 'f', delta: '{"a"' }
  assert.deepEqual(streamed([delta('Hi'), late, completed(message('Hi', 'm'), call('{"a":1}'))]), [
    parts,
    FinishReason.TOOL_CALLS,
  ])
})

test('an item that was streamed is not added again, whatever id or place it has in the final response', () => {
  const one = [['text', 'Hi']]
  for (const final of [message('Hi', 'm'), message('Hi', 'other'), message('Hi')]) {
    for (const index of [0, 1, undefined]) {
      if (index === 1 && final.id !== 'm') continue
      const events = [added(message('', 'm'), index), delta('Hi', { output_index: index, item_id: 'm' })]
      assert.deepEqual(streamed([...events, done(message('Hi', 'm'), index), completed(final)]), [
        one,
        FinishReason.STOP,
      ])
      assert.deepEqual(streamed([...events, completed(final)]), [one, FinishReason.STOP])
    }
  }
  const both = [done(thought), done(message('Hi')), completed(thought, message('Hi'))]
  const parts = [['reasoning', 'Hm.'], ...one]
  assert.deepEqual(streamed(both), [parts, FinishReason.STOP])
  assert.deepEqual(streamed([...both.slice(0, 2), completed(message('Hi'))]), [parts, FinishReason.STOP])
})

test('an item is not added again even if the final response has other ids, another order or other places', () => {
  const [hi, get] = [message('Hi', 'final-m'), call('{"a":1}', 'final-f')]
  const grown = (index: number) => [added(message('', 'm'), index), delta('Hi', { output_index: index, item_id: 'm' })]
  const called = (index: number) => [added(call(''), index), done(call('{"a":1}'), index)]
  const parts = [
    ['text', 'Hi'],
    ['toolCall', '{"a":1}'],
  ]
  for (const [first, second] of [
    [0, 0],
    [0, 2],
    [1, 2],
  ] as const) {
    const events = [...grown(first), done(message('Hi', 'm'), first), ...called(second)]
    assert.deepEqual(streamed([...events, completed(hi, get)]), [parts, FinishReason.TOOL_CALLS])
    assert.deepEqual(streamed([...events, completed(get, hi)]), [parts, FinishReason.TOOL_CALLS])
    assert.deepEqual(streamed([...events, completed(thought, hi, get)])[0]?.slice(0, 2), parts)
  }
})

test('a thought and a message in one item are both found in the final response', () => {
  const thinks = { type: 'response.reasoning_text.delta', content_index: 0, delta: 'Hm.' }
  const parts = [
    ['reasoning', 'Hm.'],
    ['text', 'Hi'],
  ]
  for (const name of [{ output_index: 0, item_id: 'x' }, { output_index: 0 }, {}]) {
    const events = [{ ...thinks, ...name }, delta('Hi', name)]
    assert.deepEqual(streamed([...events, completed(thought, message('Hi'))]), [parts, FinishReason.STOP])
  }
})

test('calls with other ids in the final response are matched by the call id that their results name', () => {
  const two = [
    { ...call('', 'f2'), call_id: 'c2' },
    { ...call('', 'f1'), call_id: 'c1' },
  ]
  const begun = two.flatMap((item) => [
    added(item),
    { type: 'response.function_call_arguments.delta', item_id: item.id, delta: `"${item.call_id}"` },
  ])
  const final = ['c1', 'c2'].map((id) => ({ ...call(`"${id}"`, `final-${id}`), call_id: id }))
  const parts = [
    ['toolCall', '"c2"'],
    ['toolCall', '"c1"'],
  ]
  const [got, reason] = streamed([...begun, completed(...final)])
  assert.deepEqual([(got as unknown[]).toSorted(), reason], [parts.toSorted(), FinishReason.TOOL_CALLS])
})

test('events may name an item now by its number and now by its id, and repeat its end', () => {
  const hello = [['text', 'Hello']]
  const whole = message('Hello', 'm')
  for (const [first, second] of [
    [{ output_index: 0 }, { output_index: 0 }],
    [{ output_index: 0, item_id: 'm' }, { item_id: 'm' }],
    [{ item_id: 'm' }, { output_index: 0, item_id: 'm' }],
    [{ item_id: 'm' }, { item_id: 'm' }],
  ]) {
    const events = [delta('Hel', first), delta('lo', second)]
    const ends = [done(whole, 0), done(whole, 0), delta('lo', second)]
    assert.deepEqual(streamed([...events, ...ends, completed(whole)]), [hello, FinishReason.STOP])
  }
  assert.deepEqual(streamed([added(whole, 0), delta('Hello', { item_id: 'm' }), completed(whole)]), [
    hello,
    FinishReason.STOP,
  ])
})

test('items without ids are distinguished by their order, and so are those that share a number', () => {
  const parts = [
    ['text', 'One'],
    ['text', 'Two'],
  ]
  const nameless = ['One', 'Two'].flatMap((text) => [delta(text, {}), done(message(text))])
  assert.deepEqual(streamed([...nameless, completed(message('One'), message('Two'))]), [parts, FinishReason.STOP])
  const numbered = ['One', 'Two'].flatMap((text) => [
    added(message(''), 0),
    delta(text, { output_index: 0 }),
    done(message(text), 0),
  ])
  assert.deepEqual(streamed([...numbered, completed()]), [parts, FinishReason.STOP])
  const named = ['One', 'Two'].flatMap((text) => [
    delta(text, { output_index: 0, item_id: text }),
    done(message(text, text), 0),
  ])
  assert.deepEqual(streamed([...named, completed(message('One', 'One'), message('Two', 'Two'))]), [
    parts,
    FinishReason.STOP,
  ])
})

test('a call without a final event still ends the answer with tool calls', () => {
  const args = { type: 'response.function_call_arguments.delta', output_index: 0, item_id: 'f', delta: '{}' }
  assert.deepEqual(streamed([added(call(''), 0), args, completed()]), [[['toolCall', '{}']], FinishReason.TOOL_CALLS])
})
