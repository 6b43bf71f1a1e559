import assert from 'node:assert/strict'
import { test } from 'node:test'
import { flat } from '#test/support/generation.ts'
import { reasonOfRejection } from '#test/support/reason-of-rejection.ts'
import { ResponsesMapper } from './mapper.ts'

const malformed = reasonOfRejection('PROVIDER_UNAVAILABLE')
const done = (item: object) => ({ type: 'response.output_item.done', output_index: 0, item })
const completed = { type: 'response.completed', response: { status: 'completed', output: [] } }

function streamed(events: readonly object[], stop: readonly string[] = []) {
  const mapper = new ResponsesMapper('p', [], stop)
  for (const event of [...events, completed]) mapper.push(JSON.stringify(event))
  const happened = flat(mapper.take())
  const grown = happened.flatMap((event) => (event.case === 'partExtended' ? [event.text] : []))
  const parts = happened.flatMap((event) => (event.case === 'partEnded' ? [event.part] : []))
  assert.equal(parts.length, 1)
  return { grown, ...(parts[0] as { readonly text?: string; readonly arguments?: string }) }
}

const texts = (type: string, ...deltas: string[]) =>
  deltas.map((delta) => ({ type: `response.${type}.delta`, output_index: 0, content_index: 0, delta }))
const said = (...deltas: string[]) => texts('output_text', ...deltas)
const message = (content: unknown) => done({ type: 'message', role: 'assistant', content })
const text = (text: string) => message([{ type: 'output_text', text }])

test('text that only the final form has is sent; where the final form contradicts the deltas, the deltas count', () => {
  const { grown, text: whole } = streamed([...said('h', 'el'), text('hello world')])
  assert.deepEqual([grown, whole], [['h', 'el', 'lo world'], 'hello world'])
  for (const content of [[{ type: 'output_text', text: 'hel' }], [{ type: 'output_text', text: ' hel\n' }], [], null]) {
    assert.equal(streamed([...said('hel'), message(content)]).text, 'hel')
  }
  assert.equal(streamed([...said('a\ud83d'), text('a😀')]).text, 'a😀')
  assert.equal(streamed([...said('a\ud83d'), text('a\ud83d')]).text, 'a\ufffd')
  for (const other of ['help', 'he', 'xhello']) {
    assert.equal(streamed([...said('hello'), text(other)]).text, 'hello')
  }
  assert.equal(streamed([message('plain')]).text, 'plain')
  for (const content of [42, { type: 'output_text', text: 'a' }])
    assert.throws(() => streamed([message(content)]), malformed)
})

test('text that was held back as the possible beginning of a stop text counts as sent', () => {
  assert.equal(streamed([...said('One EN'), text('One ENE two')], ['END']).text, 'One ENE two')
  assert.equal(streamed([...said('One EN'), text('One END two')], ['END']).text, 'One ')
  assert.equal(streamed([...said('One END t'), text('One END two')], ['END']).text, 'One ')
  assert.equal(streamed([...said('One EN'), text('One two')], ['END']).text, 'One EN')
})

test('text after a stop text is counted once, whether it comes in deltas, in the final form or in both', () => {
  const parts = (...texts: string[]) => message(texts.map((text) => ({ type: 'output_text', text })))
  const second = { ...said('two')[0], content_index: 1 }
  const withheld = (...events: readonly object[]) => {
    const mapper = new ResponsesMapper('p', [], ['END'])
    for (const event of events) mapper.push(JSON.stringify(event))
    return flat(mapper.take()).reduce(
      (sum, event) => sum + (event.case === 'withheld' ? Number(Object(event).value) : 0),
      0,
    )
  }
  for (const events of [
    [...said('One END'), second],
    [...said('One END'), second, parts('One END', 'two')],
    [...said('One END'), parts('One END', 'two')],
    [...said('One END'), { ...second, delta: 't' }, parts('One END', 'two')],
    [parts('One END', 'two')],
    [...said('One END'), { ...message([{ type: 'refusal', refusal: 'two' }]), output_index: 1 }],
    [...said('One END'), { ...second, content_index: 0, output_index: 1 }, { ...parts('two'), output_index: 1 }],
  ]) {
    assert.equal(withheld(...events), 'ENDtwo'.length, JSON.stringify(events))
  }
})

test('arguments may be an object; arguments whose JSON contradicts the deltas are malformed', () => {
  const call = (args: unknown) => ({ type: 'function_call', id: 'fc', call_id: 'c', name: 'f', arguments: args })
  const begun = { type: 'response.output_item.added', output_index: 0, item: call('') }
  const deltas = (...pieces: string[]) => [begun, ...texts('function_call_arguments', ...pieces)]
  assert.equal(streamed([...deltas('{"a"'), done(call('{"a":999}'))]).arguments, '{"a":999}')
  assert.equal(streamed([...deltas('{"a": ', '1}'), done(call('{"a":1}'))]).arguments, '{"a": 1}')
  assert.equal(streamed([begun, done(call({ a: 1 }))]).arguments, '{"a":1}')
  assert.equal(streamed([done(call({ a: 1 }))]).arguments, '{"a":1}')
  assert.equal(streamed([...deltas('{}'), done(call(null))]).arguments, '{}')
  assert.equal(streamed([begun, done(call({}))]).arguments, '{}')
  assert.equal(streamed([...deltas('{"a":1}'), done(call({}))]).arguments, '{"a":1}')
  assert.equal(
    streamed([...deltas('{"b":1,"a":[{"d":2,"c":3}]}'), done(call('{"a":[{"c":3,"d":2}],"b":1}'))]).arguments,
    '{"b":1,"a":[{"d":2,"c":3}]}',
  )
  for (const other of ['{"a":2}', '{"a":', 7, [1]]) {
    assert.throws(() => streamed([...deltas('{"a":1}'), done(call(other))]), malformed)
  }
})

test('text of a thought that only the final form has is sent; where both differ, the deltas count', () => {
  const thought = (text: string) => done({ type: 'reasoning', summary: [{ type: 'summary_text', text }] })
  const summary = texts('reasoning_summary_text', 'I th')
  const of = (text: string) => Object(streamed([...summary, thought(text)])).summary
  assert.deepEqual(['I think', 'We', ''].map(of), ['I think', 'I th', 'I th'])
})
