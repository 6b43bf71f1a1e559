// Answers that differ from OpenAI's: what is clear is taken, and anything else is malformed.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { create } from '@bufbuild/protobuf'
import { FinishReason, ToolSchema } from '#gen/portico/inference/v1/inference_pb.js'
import { PartStarted_Kind as Kind } from '#gen/portico/inference/v1/inference_service_pb.js'
import { FlatTools } from '#services/inference/domain/flat-tools.ts'
import type { JsonObject } from '#shared/json.ts'
import { flat } from '#test/support/generation.ts'
import { reasonOfRejection } from '#test/support/reason-of-rejection.ts'
import { OpenaiMapper } from './mapper.ts'

const malformed = reasonOfRejection('PROVIDER_UNAVAILABLE')
const tools = ['get', 'get_weather', 'put'].map((name) => create(ToolSchema, { name, description: '', parameters: {} }))

/** The parts and the reason of an answer. */
function read(mapper: OpenaiMapper) {
  const events = flat(mapper.take())
  const last = events.at(-1)
  return {
    parts: events.flatMap((event) => (event.case === 'partEnded' ? [event.part] : [])),
    reason: last?.case === 'finished' ? last.reason : undefined,
  }
}

function whole(completion: JsonObject) {
  const mapper = new OpenaiMapper('p', [], new FlatTools(tools))
  mapper.whole(completion)
  return read(mapper)
}

function streamed(...chunks: (JsonObject | string)[]) {
  const mapper = new OpenaiMapper('p', [], new FlatTools(tools))
  for (const chunk of chunks) mapper.push(typeof chunk === 'string' ? chunk : JSON.stringify(chunk))
  mapper.end()
  return read(mapper)
}

const message = (message: JsonObject, finish = 'stop') => ({ choices: [{ index: 0, message, finish_reason: finish }] })
const delta = (delta: JsonObject, finish: string | null = null) => ({
  choices: [{ index: 0, delta, finish_reason: finish }],
})
const call = (name: string, json: string, callId = 'c') => ({
  ...{ case: 'toolCall', callId, name },
  ...(json && { arguments: json }),
})
const text = (text: string) => ({ case: 'text', text })

test('arguments may be an object, and nothing else but a text', () => {
  const called = (args: JsonObject[string]) => ({
    tool_calls: [{ id: 'c', function: { name: 'put', arguments: args } }],
  })
  const one = { parts: [call('put', '{"a":1}')], reason: FinishReason.TOOL_CALLS }
  assert.deepEqual(whole(message(called({ a: 1 }), 'tool_calls')), one)
  assert.deepEqual(streamed(delta(called({ a: 1 }), 'tool_calls')), one)
  assert.deepEqual(whole(message(called(null))).parts, [call('put', '')])
  for (const args of [7, true, ['a']]) {
    assert.throws(() => whole(message(called(args))), malformed)
    assert.throws(() => streamed(delta(called(args), 'stop')), malformed)
  }
})

test('an empty object of arguments counts only if nothing else comes', () => {
  const called = (args: JsonObject[string]) => ({
    tool_calls: [{ index: 0, id: 'c', function: { name: 'put', arguments: args } }],
  })
  assert.deepEqual(whole(message(called({}))).parts, [call('put', '{}')])
  const said: JsonObject[string][] = [{}, { a: 1 }, '{"a":1}', '']
  for (const [one, other] of said.flatMap((one) => said.map((other) => [one, other] as const))) {
    const texts = [one, other].filter((args) => Object.keys(args ?? {}).length > 0 && args !== '')
    if (texts.length > 1) continue
    const [args = one === '' && other === '' ? '' : {}] = texts
    const { parts } = streamed(delta(called(one)), delta(called(other)), delta({}, 'tool_calls'))
    const json = typeof args === 'string' ? args : JSON.stringify(args)
    assert.deepEqual(parts, [call('put', json)], JSON.stringify([one, other]))
  }
})

test('a call in the form of OpenAI’s first tools is a call, unless it is there in today’s form as well', () => {
  const own = (parts: readonly object[]) => parts.map((part) => ({ ...part, callId: 'c' }))
  const once = { name: 'put', arguments: '{"a":1}' }
  for (const finish of ['function_call', 'stop']) {
    const { parts, reason } = whole(message({ content: null, function_call: once }, finish))
    assert.deepEqual([own(parts), reason], [[call('put', '{"a":1}')], FinishReason.TOOL_CALLS])
  }
  const { parts, reason } = streamed(
    delta({ role: 'assistant', function_call: { name: 'put', arguments: '' } }),
    delta({ function_call: { arguments: '{"a"' } }),
    delta({ function_call: { arguments: ':1}' } }),
    delta({}, 'function_call'),
  )
  assert.deepEqual([own(parts), reason], [[call('put', '{"a":1}')], FinishReason.TOOL_CALLS])
  const both = { tool_calls: [{ id: 'c', function: once }], function_call: once }
  assert.deepEqual(whole(message(both)).parts, [call('put', '{"a":1}')])
})

test('a content is a text, or a list of pieces, or none', () => {
  for (const none of [null, '', []]) assert.deepEqual(whole(message({ content: none })).parts, [])
  assert.deepEqual(whole(message({ content: ['a', { type: 'text', text: 'b' }] })).parts, [text('ab')])
  for (const content of [42, true, { type: 'text', text: 'a' }]) {
    assert.throws(() => whole(message({ content })), malformed)
    assert.throws(() => streamed(delta({ content }, 'stop')), malformed)
  }
})

test('a stream may be one whole message, or repeat itself as one', () => {
  const said = message({ role: 'assistant', content: 'a' })
  assert.deepEqual(streamed(said), { parts: [text('a')], reason: FinishReason.STOP })
  const tools = [{ function: { name: 'put', arguments: '{}' } }, { function: { name: 'put', arguments: '[]' } }]
  const { parts } = streamed(message({ tool_calls: tools }, 'tool_calls'))
  assert.deepEqual(parts.length, 2)
  const begun = { choices: [{ index: 0, delta: { content: 'a' }, finish_reason: null }] }
  for (const first of [begun, message({ content: 'a' })]) {
    assert.deepEqual(streamed(first, said), { parts: [text('a')], reason: FinishReason.STOP })
  }
  const empty: JsonObject[] = [{}, { name: '', arguments: '' }]
  for (const none of empty) {
    const pieces = ['a', 'b'].map((content) => ({ choices: [{ index: 0, delta: { content, function_call: none } }] }))
    assert.deepEqual(streamed(...pieces, message({})).parts, [text('ab')])
  }
})

test('a message at the end adds the kinds of content of which nothing was streamed', () => {
  const calls = { tool_calls: [{ id: 'c', function: { name: 'put', arguments: '{"a":1}' } }] }
  const said = { role: 'assistant', content: 'a', reasoning_content: 'hm', refusal: null }
  const thought = { case: 'reasoning', text: 'hm' }
  const put = call('put', '{"a":1}')
  assert.deepEqual(streamed(delta({ reasoning: 'hm' }), message(said)).parts, [thought, text('a')])
  assert.deepEqual(streamed(delta({ reasoning: 'hm' }), delta({ content: 'a' }), message(said)).parts, [
    thought,
    text('a'),
  ])
  const last = message({ ...said, reasoning_content: null, ...calls }, 'tool_calls')
  assert.deepEqual(streamed(delta({ content: 'a' }), last), {
    parts: [text('a'), put],
    reason: FinishReason.TOOL_CALLS,
  })
  assert.deepEqual(streamed(delta(calls), last).parts, [text('a'), put])
  const scored = { ...last.choices[0], logprobs: { content: [{ token: 'a', logprob: -1, top_logprobs: [] }] } }
  assert.deepEqual(streamed(delta({ content: 'a' }), { choices: [scored] }).parts, [text('a'), put])
  const pieces: JsonObject[] = [
    { type: 'thinking', thinking: [{ type: 'text', text: 'hm' }] },
    { type: 'text', text: 'a' },
  ]
  assert.deepEqual(streamed(delta({ reasoning: 'hm' }), message({ content: pieces })).parts, [thought, text('a')])
})

test('a picture or an encrypted thought that was streamed does not come again in a message', () => {
  const image = { images: [{ image_url: { url: 'https://x.example/a.png' } }] }
  const thought = { reasoning_details: [{ type: 'reasoning.encrypted', data: 'e' }] }
  for (const said of [image, thought]) {
    assert.equal(streamed(delta(said), message({ role: 'assistant', content: '', ...said })).parts.length, 1)
  }
})

test('the choice with the lowest index counts, wherever it is', () => {
  const one = (index: number, said: object, finish: string | null) => ({ index, ...said, finish_reason: finish })
  const pieces = ['A', 'B', 'B2', 'A2'].map((content) => ({ delta: { content } }))
  const [a = {}, b = {}, b2 = {}, a2 = {}] = pieces
  const chunks = [
    { choices: [one(1, b, null), one(0, a, null)] },
    { choices: [one(1, b2, 'length')] },
    { choices: [one(0, a2, 'stop')] },
    '[DONE]',
  ]
  assert.deepEqual(streamed(...chunks), { parts: [text('AA2')], reason: FinishReason.STOP })
  const choices = ['B', 'A'].map((content, at) => one(1 - at, { message: { content } }, 'stop'))
  assert.deepEqual(whole({ choices }).parts, [text('A')])
  assert.deepEqual(whole({ choices: choices.slice(0, 1) }).parts, [text('B')])
  const others = ['B', 'B2'].map((content) => ({ choices: [one(1, { delta: { content } }, null)] }))
  const ended = { choices: [{ delta: {}, finish_reason: 'length' }] }
  assert.deepEqual(streamed(...others, ended), { parts: [text('BB2')], reason: FinishReason.LENGTH })
})

const named = (name: string, args = '') =>
  delta({ tool_calls: [{ index: 0, id: 'c', function: { name, arguments: args } }] })
const more = (args: string) => delta({ tool_calls: [{ index: 0, function: { arguments: args } }] })

test('a name may come in pieces, or again with each delta', () => {
  for (const [names, name] of [
    [['get_', 'weather'], 'get_weather'],
    [['get', '_weather'], 'get_weather'],
    [['get', 'get_weather'], 'get_weather'],
    [['get', 'get', 'get'], 'get'],
    [['get_weather', 'get_weather'], 'get_weather'],
    [['put', 'put'], 'put'],
    [['unknown', 'unknown'], 'unknown'],
    [['get_'], 'get_'],
  ] as const) {
    const { parts } = streamed(...names.map((piece) => named(piece)), more('{}'), delta({}, 'tool_calls'))
    assert.deepEqual(parts, [call(name, '{}')], names.join(' + '))
    const ended = streamed(...names.map((piece) => named(piece)), delta({}, 'tool_calls'))
    assert.deepEqual(ended.parts, [call(name, '')], names.join(' + '))
  }
  const { parts } = streamed(named('get', '{'), named('get', '}'), delta({}, 'tool_calls'))
  assert.deepEqual(parts, [call('get', '{}')])
})

test('calls keep their order, among themselves and among other parts, though a name might go on', () => {
  const image = { image_url: { url: 'https://x.example/a.png' } }
  const called = (name: string, index: number) => ({ index, id: name, function: { name, arguments: '' } })
  const [get, put] = [called('get', 0), called('put', 1)]
  const begun = (mapper: OpenaiMapper) =>
    flat(mapper.take()).flatMap((event) => (event.case === 'partStarted' ? [event.toolCall?.callId ?? event.kind] : []))
  const once = new OpenaiMapper('p', [], new FlatTools(tools))
  once.whole(message({ tool_calls: [get, put], images: [image] }))
  assert.deepEqual(begun(once), ['get', 'put', Kind.IMAGE])
  for (const [type, said] of Object.entries<JsonObject>({
    put: { tool_calls: [put] },
    text: { content: 'a' },
    image: { images: [image] },
    reasoning: { reasoning_details: [{ type: 'reasoning.encrypted', data: 'e' }] },
  })) {
    const mapper = new OpenaiMapper('p', [], new FlatTools(tools))
    for (const piece of [{ tool_calls: [get] }, said]) mapper.push(JSON.stringify(delta(piece)))
    mapper.push(JSON.stringify(delta({}, 'tool_calls')))
    mapper.end()
    assert.deepEqual(begun(mapper), [
      'get',
      { text: Kind.TEXT, image: Kind.IMAGE, reasoning: Kind.REASONING }[type] ?? type,
    ])
  }
})

test('a name that cannot go on shows its tool at once', () => {
  const mapper = new OpenaiMapper('p', [], new FlatTools(tools))
  mapper.push(JSON.stringify(named('put')))
  assert.equal(flat(mapper.take()).at(-1)?.case, 'partStarted')
  mapper.push(JSON.stringify(named('put')))
  assert.deepEqual(flat(mapper.take()), [])
})
