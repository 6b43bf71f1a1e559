import assert from 'node:assert/strict'
import { test } from 'node:test'
import { create } from '@bufbuild/protobuf'
import {
  CacheControlSchema,
  type Message,
  type Part,
  Message_Role as Role,
} from '#gen/portico/inference/v1/inference_pb.js'
import { generationRequest, message, part, type RequestInit } from '#test/support/generation.ts'
import { withCacheMarker } from './automatic-cache.ts'

const cacheControl = create(CacheControlSchema, { ttl: '1h' })
const said = (text: string, marker: object = {}): Message => message(Role.USER, part('text', { text }, marker))
const marked = (messages: Message[], more: RequestInit = {}) =>
  withCacheMarker(generationRequest({ messages, ...more }), cacheControl)

test('a marker is set on the last part of a conversation, unless there is one', () => {
  const conversation = [said('a'), said('b')]
  const once = marked(conversation)
  assert.deepEqual(once, [said('a'), said('b', { cacheControl })])
  assert.deepEqual(conversation, [said('a'), said('b')])
  assert.deepEqual(marked(once), once)
  assert.deepEqual(marked([message(Role.USER)]), [message(Role.USER)])
})

test('sets the marker on the last piece that can be cached, and never on one where a provider would refuse it', () => {
  const untaken: Part[] = [
    part('text', { text: '' }),
    part('text', { text: ' \n' }),
    part('reasoning', { text: 'hm', signature: 's' }),
    part('foreign', { format: 'x', item: { type: 'web_search_call' } }),
    part('audio', { source: { case: 'data', value: Uint8Array.of(1) } }),
  ]
  const taken: Part[] = [
    part('text', { text: 'a' }),
    part('image', { source: { case: 'url', value: 'https://a.test/a.png' } }),
    part('toolCall', { callId: 'c', name: 'f', arguments: '{}' }),
    part('toolResult', { callId: 'c', content: [], failed: false }),
  ]
  for (const last of taken) {
    const role = last.part.case === 'toolCall' ? Role.ASSISTANT : Role.USER
    const conversation = [
      message(role, last, ...untaken),
      message(Role.ASSISTANT, ...untaken),
      message(Role.SYSTEM, part('text', { text: 'Be brief.' })),
    ]
    const [first, ...others] = marked(conversation)
    assert.deepEqual(first, message(role, { ...last, cacheControl }, ...untaken))
    assert.deepEqual(others, conversation.slice(1))
  }
  const instructions = message(Role.SYSTEM, part('text', { text: 'Be brief.' }))
  const [first] = marked([instructions, message(Role.USER, ...untaken)])
  assert.deepEqual(first?.parts[0]?.cacheControl, cacheControl)
})

test('a request that has as many markers as it may have, wherever they stand, gets no further one', () => {
  const marker = { cacheControl: {} }
  const result = part('toolResult', { callId: 'c', content: [part('text', { text: 'a' }, marker)] })
  const item = { type: 'server_tool_use', cache_control: { type: 'ephemeral' } }
  const hosted = { format: 'x', definition: { type: 'web_search', cache_control: { type: 'ephemeral' } } }
  const three = [
    message(Role.SYSTEM, part('text', { text: 'Be brief.' }, marker)),
    message(Role.ASSISTANT, part('foreign', { format: 'x', item })),
    message(Role.TOOL, result),
    said('b'),
  ]
  assert.deepEqual(marked(three).at(-1), said('b', { cacheControl }))
  assert.deepEqual(marked(three, { tools: [{ name: 'f', ...marker }] }), three)
  assert.deepEqual(marked(three, { hostedTools: [hosted] }), three)
})
