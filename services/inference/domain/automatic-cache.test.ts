import assert from 'node:assert/strict'
import { test } from 'node:test'
import { withCacheMarker } from './automatic-cache.ts'
import type { Message, Part } from './conversation.ts'

const said = (text: string, cache?: object): Message => ({ role: 'user', parts: [{ type: 'text', text, ...cache }] })
const nothing = { tools: [], hostedTools: [] }
const marked = (messages: readonly Message[], more: object = {}) =>
  withCacheMarker({ messages, ...nothing, ...more }, { ttl: '1h' })

test('a marker is set at the very end, unless there is one', () => {
  const conversation = [said('a'), said('b')]
  const once = marked(conversation)
  assert.deepEqual(once, [said('a'), said('b', { cache: { ttl: '1h' } })])
  assert.deepEqual(conversation, [said('a'), said('b')])
  assert.equal(marked(once), once)
  assert.deepEqual(marked([{ role: 'user', parts: [] }]), [{ role: 'user', parts: [] }])
})

test('it is set on the last piece that can be cached, and never on one where a provider would refuse it', () => {
  const untaken: Part[] = [
    { type: 'text', text: '' },
    { type: 'text', text: ' \n' },
    { type: 'reasoning', text: 'hm', signature: 's' },
    { type: 'foreign', format: 'x', item: { type: 'web_search_call' } },
    { type: 'audio', source: { data: Uint8Array.of(1) } },
  ]
  const cache = { ttl: '1h' }
  const taken: Part[] = [
    { type: 'text', text: 'a' },
    { type: 'image', source: { url: 'https://a.test/a.png' } },
    { type: 'tool-call', callId: 'c', name: 'f', arguments: '{}' },
    { type: 'tool-result', callId: 'c', content: [], failed: false },
  ]
  for (const part of taken) {
    const role = part.type === 'tool-call' ? 'assistant' : 'user'
    const conversation: Message[] = [
      { role, parts: [part, ...untaken] },
      { role: 'assistant', parts: untaken },
      { role: 'system', parts: [{ type: 'text', text: 'Be brief.' }] },
    ]
    const [first, ...others] = marked(conversation)
    assert.deepEqual(first, { role, parts: [{ ...part, cache }, ...untaken] })
    assert.deepEqual(others, conversation.slice(1))
  }
  const instructions: Message = { role: 'system', parts: [{ type: 'text', text: 'Be brief.' }] }
  assert.deepEqual(marked([instructions, { role: 'user', parts: untaken }])[0]?.parts[0]?.cache, cache)
})

test('a request that has as many markers as it may have, wherever they stand, gets no further one', () => {
  const marker = { cache: {} }
  const result: Part = {
    type: 'tool-result',
    callId: 'c',
    content: [{ type: 'text', text: 'a', ...marker }],
    failed: false,
  }
  const item = { type: 'server_tool_use', cache_control: { type: 'ephemeral' } }
  const tool = { name: 'f', parameters: undefined, strict: undefined, ...marker }
  const hosted = { format: 'x', definition: { type: 'web_search', cache_control: { type: 'ephemeral' } } }
  const three: Message[] = [
    { role: 'system', parts: [{ type: 'text', text: 'Be brief.', ...marker }] },
    { role: 'assistant', parts: [{ type: 'foreign', format: 'x', item }] },
    { role: 'tool', parts: [result] },
    said('b'),
  ]
  assert.deepEqual(marked(three).at(-1), said('b', { cache: { ttl: '1h' } }))
  assert.equal(marked(three, { tools: [tool] }), three)
  assert.equal(marked(three, { hostedTools: [hosted] }), three)
})
