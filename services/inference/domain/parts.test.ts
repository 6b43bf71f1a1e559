import assert from 'node:assert/strict'
import { test } from 'node:test'
import { PartWriter } from './parts.ts'

const LIMIT = 1_000_000

function deltasOf(writer: PartWriter): string[] {
  return writer.take().flatMap((event) => (event.type === 'part-extended' ? [event.text] : []))
}

test('a character that comes in two halves goes on as one', () => {
  const writer = new PartWriter()
  const part = writer.start('text')
  for (const text of ['a\ud83d', '\ude00b', '\ud83d', '\ude00']) writer.extend(part, text)
  writer.end(part)
  assert.deepEqual([deltasOf(writer), part.text], [['a', '😀b', '😀'], 'a😀b😀'])
})

test('half a character that stays alone becomes a replacement character, in a delta and in the whole alike', () => {
  const writer = new PartWriter()
  const part = writer.start('text')
  for (const text of ['\ud800', 'x', '\udc00', '\ud801']) writer.extend(part, text)
  writer.end(part)
  assert.deepEqual([deltasOf(writer).join(''), part.text], ['\ufffdx\ufffd\ufffd', '\ufffdx\ufffd\ufffd'])
})

test('what an answer holds is bounded: texts of any part, proofs, hidden thoughts, and parts themselves', () => {
  const sizes: Record<string, (writer: PartWriter) => void> = {
    text: (writer) => writer.extend(writer.start('text'), 'x'.repeat(LIMIT)),
    several: (writer) => {
      for (const kind of ['text', 'tool-call'] as const) writer.extend(writer.start(kind), 'x'.repeat(LIMIT / 2))
    },
    signature: (writer) => {
      const part = writer.start('reasoning')
      part.signature = 'x'.repeat(LIMIT)
      writer.end(part)
    },
    encrypted: (writer) => writer.whole('reasoning', { type: 'reasoning', encrypted: 'x'.repeat(LIMIT) }),
    notes: (writer) => {
      const part = writer.start('text')
      for (let index = 0; writer.note(part, 'annotations', { index }); index++);
    },
    parts: (writer) => {
      for (let index = 0; index <= LIMIT / 200; index++) writer.end(writer.start('text'))
    },
  }
  for (const [name, write] of Object.entries(sizes)) {
    const writer = new PartWriter()
    write(writer)
    assert.equal(writer.full, true, name)
    writer.finish('stop', 'y'.repeat(LIMIT))
    const events = writer.take()
    const last = events.at(-1)
    assert.equal(last?.type === 'finished' && last.reason, 'length', name)
    assert.ok(name === 'parts' || JSON.stringify(events).length < LIMIT + 2_000, name)
  }
})

test('a cut leaves no half of a character', () => {
  const writer = new PartWriter()
  const part = writer.start('text')
  writer.extend(part, `x${'😀'.repeat(LIMIT)}`)
  assert.equal(part.text.isWellFormed() && !part.text.includes('\ufffd'), true)
})
