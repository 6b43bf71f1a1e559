import assert from 'node:assert/strict'
import { test } from 'node:test'
import { withCacheMarker } from './automatic-cache.ts'
import type { Message } from './conversation.ts'

const said = (text: string, cache?: object): Message => ({ role: 'user', parts: [{ type: 'text', text, ...cache }] })

test('a marker stands at the very end, unless there is one', () => {
  const conversation = [said('a'), said('b')]
  const marked = withCacheMarker(conversation, { ttl: '1h' })
  assert.deepEqual(marked, [said('a'), said('b', { cache: { ttl: '1h' } })])
  assert.deepEqual(conversation, [said('a'), said('b')])
  assert.equal(withCacheMarker(marked, { ttl: '5m' }), marked)
  assert.deepEqual(withCacheMarker([{ role: 'user', parts: [] }], {}), [{ role: 'user', parts: [] }])
})
