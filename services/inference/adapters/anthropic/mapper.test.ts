import assert from 'node:assert/strict'
import { test } from 'node:test'
import { FinishReason } from '#gen/portico/inference/v1/inference_pb.js'
import type { JsonObject } from '#shared/json.ts'
import { Rejection } from '#shared/rejection.ts'
import { flat } from '#test/support/generation.ts'
import { reasonOfRejection } from '#test/support/reason-of-rejection.ts'
import { AnthropicMapper } from './mapper.ts'

/** Names that every JavaScript object inherits. */
const INHERITED = ['constructor', 'toString', '__proto__']

test('a stop reason with the name of a member of every object is unknown', () => {
  for (const word of INHERITED) {
    const mapper = new AnthropicMapper('p', [])
    mapper.whole({ content: [{ case: 'text', text: 'a' }], stop_reason: word })
    assert.deepEqual(flat(mapper.take()).at(-1), { case: 'finished', reason: FinishReason.OTHER, rawReason: word })
  }
})

test('leaves out members of an answer that are too long or nested too deep', () => {
  let deep: JsonObject = {}
  for (let i = 0; i < 200; i++) deep = { deep }
  const mapper = new AnthropicMapper('p', [])
  const besides = { diagnostics: { a: 1 }, deep, ...JSON.parse('{"__proto__":{"x":1}}') }
  const call = { type: 'tool_use', id: 'c', name: 'f', input: {}, caller: { type: 'direct' }, deep }
  mapper.whole({ ...besides, content: [call], stop_reason: 'end_turn', long: 'x'.repeat(200_000) })
  const events = flat(mapper.take())
  const kept = { 'anthropic-claude-v1': { caller: { type: 'direct' } } }
  const parts = events.flatMap((event) => (event.case === 'partEnded' ? [event.part.providerMetadata] : []))
  assert.deepEqual(parts, [kept])
  const ended = events.find((event) => event.case === 'finished')
  assert.deepEqual(ended?.providerMetadata, { 'anthropic-claude-v1': { diagnostics: { a: 1 } } })
})

test('takes an error type that every object inherits, such as “constructor”, for an unknown one', () => {
  for (const word of INHERITED) {
    const mapper = new AnthropicMapper('p', [])
    assert.throws(
      () => mapper.whole({ error: { type: word, message: 'M' } }),
      (error) => error instanceof Rejection && error.metadata.status === '500',
    )
  }
})

test('a block that begins at the index of an open one ends that one', () => {
  const mapper = new AnthropicMapper('p', [])
  const say = (event: object): void => mapper.push(JSON.stringify(event))
  say({ type: 'message_start', message: {} })
  for (const text of ['one', 'two']) say({ type: 'content_block_start', content_block: { type: 'text', text } })
  say({ type: 'message_delta', delta: { stop_reason: 'end_turn' } })
  say({ type: 'message_stop' })
  const ended = flat(mapper.take()).flatMap((event) => (event.case === 'partEnded' ? [[event.index, event.part]] : []))
  assert.deepEqual(ended, [
    [0, { case: 'text', text: 'one' }],
    [1, { case: 'text', text: 'two' }],
  ])
})

test('a call without an id gets one, since its result must name it; a call without a name is malformed', () => {
  const idless = new AnthropicMapper('p', [])
  idless.whole({ content: [{ type: 'tool_use', name: 'f', input: {} }], stop_reason: 'tool_use' })
  const [call] = flat(idless.take()).flatMap((event) => (event.case === 'partStarted' ? [event] : []))
  assert.match(call?.toolCall.callId ?? '', /^call_\w+$/)
  const nameless = { content: [{ type: 'tool_use', id: 'c', input: {} }], stop_reason: 'tool_use' }
  assert.throws(() => new AnthropicMapper('p', []).whole(nameless), reasonOfRejection('PROVIDER_UNAVAILABLE'))
})

const endedParts = (mapper: AnthropicMapper) =>
  flat(mapper.take()).flatMap((event) => (event.case === 'partEnded' ? [event.part] : []))

test('an input as text, a content as text, and a delta of text without its block are accepted; anything else is malformed', () => {
  const whole = (content: unknown) => {
    const mapper = new AnthropicMapper('p', [])
    mapper.whole({ content, stop_reason: 'end_turn' } as JsonObject)
    return endedParts(mapper)
  }
  const call = (input: unknown) => [{ type: 'tool_use', id: 'c', name: 'f', input }]
  const called = (json: string) => [{ case: 'toolCall', callId: 'c', name: 'f', arguments: json }]
  assert.deepEqual(whole(call('{"a":1}')), called('{"a":1}'))
  for (const none of [null, undefined, '', {}]) assert.deepEqual(whole(call(none)), called('{}'))
  assert.deepEqual(whole('plain'), [{ case: 'text', text: 'plain' }])
  const malformed = reasonOfRejection('PROVIDER_UNAVAILABLE')
  for (const input of ['{"a":', '[1]', 7, [1]]) assert.throws(() => whole(call(input)), malformed)
  for (const content of [42, { type: 'text', text: 'a' }]) assert.throws(() => whole(content), malformed)

  const streamed = (delta: object) => {
    const mapper = new AnthropicMapper('p', [])
    mapper.push('{"type":"message_start","message":{}}')
    mapper.push(JSON.stringify({ type: 'content_block_delta', index: 7, delta }))
    mapper.push('{"type":"message_delta","delta":{"stop_reason":"end_turn"}}')
    mapper.push('{"type":"message_stop"}')
    return endedParts(mapper)
  }
  assert.deepEqual(streamed({ type: 'text_delta', text: 'a' }), [{ case: 'text', text: 'a' }])
  assert.deepEqual(streamed({ type: 'thinking_delta', thinking: 'b' }), [{ case: 'reasoning', text: 'b' }])
  assert.throws(() => streamed({ type: 'input_json_delta', partial_json: '{}' }), malformed)
})

test('an empty delta after the end of its block changes nothing', () => {
  for (const [block, said, none] of [
    [{ type: 'tool_use', id: 'c', name: 'f' }, { partial_json: '{"a":1}' }, { partial_json: '' }],
    [{ type: 'text' }, { text: 'a' }, { text: '' }],
    [{ type: 'thinking' }, { thinking: 'a' }, { thinking: '' }],
  ] as const) {
    const type = Object.keys(said)[0] === 'partial_json' ? 'input_json_delta' : `${block.type}_delta`
    const mapper = new AnthropicMapper('p', [])
    for (const event of [
      { type: 'message_start', message: {} },
      { type: 'content_block_start', index: 0, content_block: block },
      { type: 'content_block_delta', index: 0, delta: { type, ...said } },
      { type: 'content_block_stop', index: 0 },
      { type: 'content_block_delta', index: 0, delta: { type, ...none } },
      { type: 'message_delta', delta: { stop_reason: 'end_turn' } },
      { type: 'message_stop' },
    ])
      mapper.push(JSON.stringify(event))
    assert.equal(endedParts(mapper).length, 1, type)
  }
})

test('a message that stops without a stop reason was cut off', () => {
  const mapper = new AnthropicMapper('p', [])
  const say = (event: object): void => mapper.push(JSON.stringify(event))
  say({ type: 'message_start', message: {} })
  say({ type: 'content_block_start', index: 0, content_block: { type: 'text', text: 'one' } })
  say({ type: 'content_block_stop', index: 0 })
  assert.throws(() => say({ type: 'message_stop' }), reasonOfRejection('PROVIDER_UNAVAILABLE'))
})

test('a message may say at its start why it stops', () => {
  const mapper = new AnthropicMapper('p', [])
  for (const event of [{ type: 'message_start', message: { stop_reason: 'end_turn' } }, { type: 'message_stop' }]) {
    mapper.push(JSON.stringify(event))
  }
  assert.partialDeepStrictEqual(flat(mapper.take()).at(-1), {
    case: 'finished',
    reason: FinishReason.STOP,
    rawReason: 'end_turn',
  })
})
