import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fileContent, textContent } from '#services/catalog/domain/tool-outcome.ts'
import { cpuDuring } from '#test/support/held.ts'
import { readMessage, readMetadata, readResult } from './plugin-messages.ts'

test('a thread’s output is read if it is a message of at most 64 levels', () => {
  const message = { type: 'result', id: 1, value: { a: '[[{"', b: [] } }
  assert.deepEqual(readMessage(JSON.stringify(message)), message)
  const deep = (levels: number) => `{"type":"result","id":1,"value":${'['.repeat(levels)}${']'.repeat(levels)}}`
  assert.ok(readMessage(deep(63)))
  assert.throws(() => readMessage(deep(64)), /64 levels/)
  const loaded = (path: string) => JSON.stringify({ type: 'loaded', path, fingerprint: `${path} 1` })
  assert.ok(readMessage(loaded('x'.repeat(4_000))))
  assert.throws(() => readMessage(loaded('x'.repeat(20_000))))
  for (const text of ['', 'null', '[]', '{"type":"result"}', '{"type":"loaded","path":1}', '{"type":"pong"}', '{']) {
    assert.throws(() => readMessage(text))
  }
})

test('a text that is not a message is refused in time that grows with its length alone', () => {
  const unclosed = `{"type":"result","id":1,"value":"${'\\"'.repeat(100_000)}`
  assert.ok(cpuDuring(() => assert.throws(() => readMessage(unclosed))) < 5_000)
})

test('half of a character, which providers refuse, is replaced', () => {
  const message = readMessage('{"type":"result","id":1,"value":{"content":[],"metadata":{"\\ud83d":"\\ude00 😀"}}}')
  assert.deepEqual(message, {
    ...{ type: 'result', id: 1 },
    value: { content: [], metadata: { '\ufffd': '\ufffd 😀' } },
  })
})

test('a result is a text, pieces, or nothing; what is shown of it is bounded', () => {
  const text = (value: string) => ({ type: 'text', text: value }) as const
  assert.deepEqual(readResult(null).value.content, [textContent('(no output)')])
  assert.deepEqual(readResult({ content: [] }).value.content, [textContent('(no output)')])
  const file = { type: 'file', data: 'AAAA', mime: 'a/b', name: 'x'.repeat(300) }
  const { content } = readResult({ content: [text('a'), file], metadata: { a: 'x'.repeat(40_000) } }).value
  assert.deepEqual(content, [textContent('a'), fileContent(Buffer.alloc(3), 'a/b', 'x'.repeat(255))])
  assert.equal(readMetadata({ a: 'x'.repeat(40_000) }), undefined)
  for (const wrong of [1, [], {}, { content: [null] }, { content: Array(17).fill(text('a')) }]) {
    assert.throws(() => readResult(wrong), TypeError)
  }
  assert.throws(() => readResult({ content: 'a' }), /\{ content: \[\{ type: "text", text \}\] \}/)
  for (const change of [{ data: 'A' }, { data: '!!!!' }, { mime: 'a' }, { mime: 'a/b\n' }, { name: 1 }]) {
    assert.throws(() => readResult({ content: [{ ...file, ...change }] }), TypeError)
  }
})
