import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { JsonObject } from '#shared/json.ts'
import { cpuDuring } from '#test/support/held.ts'
import { PartWriter } from './parts.ts'

const LIMIT = 1_000_000

function deltasOf(writer: PartWriter): string[] {
  return writer.take().flatMap((event) => (event.type === 'part-extended' ? [event.text] : []))
}

test('a character that arrives in two halves is passed on as one', () => {
  const writer = new PartWriter()
  const part = writer.start('text')
  for (const text of ['a\ud83d', '\ude00b', '\ud83d', '\ude00']) writer.extend(part, text)
  writer.end(part)
  assert.deepEqual([deltasOf(writer), part.text.toString()], [['a', '😀b', '😀'], 'a😀b😀'])
})

test('half a character that stays alone becomes a replacement character, in a delta and in the whole alike', () => {
  const writer = new PartWriter()
  const part = writer.start('text')
  for (const text of ['\ud800', 'x', '\udc00', '\ud801']) writer.extend(part, text)
  writer.end(part)
  assert.deepEqual([deltasOf(writer).join(''), part.text.toString()], ['\ufffdx\ufffd\ufffd', '\ufffdx\ufffd\ufffd'])
})

test('an item, or a note, that is nested deeper than a request may contain is left out, and the answer goes on', () => {
  const writer = new PartWriter()
  const part = writer.start('text')
  assert.deepEqual(
    [30, 31].map((levels) => writer.note(part, 'citations', deep(levels))),
    [true, false],
  )
  for (const levels of [30, 31, 20_000]) {
    writer.whole('foreign', { type: 'foreign', format: 'f', item: deep(levels) })
  }
  writer.end(part)
  const ended = writer.take().filter(({ type }) => type === 'part-ended')
  assert.deepEqual([ended.length, writer.full], [2, false])
})

/** An object with this many levels. */
function deep(levels: number): JsonObject {
  let object: JsonObject = {}
  for (let i = 1; i < levels; i++) object = { a: object }
  return object
}

test('an answer is bounded: texts of any part, proofs, hidden thoughts, and parts themselves', () => {
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
    'the proof of a call': (writer) => {
      const proof = { signature: 'x'.repeat(LIMIT), format: 'f' }
      writer.end(writer.start('tool-call', { callId: 'c', toolName: 't', ...proof }))
    },
    encrypted: (writer) => writer.whole('reasoning', { type: 'reasoning', encrypted: 'x'.repeat(LIMIT) }),
    foreign: (writer) => writer.whole('foreign', { type: 'foreign', format: 'f', item: { x: 'x'.repeat(LIMIT) } }),
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

test('a cut leaves no half character', () => {
  const writer = new PartWriter()
  const part = writer.start('text')
  writer.extend(part, `x${'😀'.repeat(LIMIT)}`)
  const text = part.text.toString()
  assert.equal(text.isWellFormed() && !text.includes('\ufffd'), true)
})

test('log probabilities come with the text of their tokens, even if a character arrives in two halves', () => {
  const writer = new PartWriter()
  const part = writer.start('text')
  const token = (text: string) => ({ token: text, logProbability: -1, alternatives: [] })
  writer.extend(part, 'a', [token('a')])
  writer.extend(part, '\ud83d', [token('1')])
  writer.extend(part, '\ude00', [token('2')])
  writer.extend(part, 'b')
  writer.end(part)
  const said = writer
    .take()
    .flatMap((event) =>
      event.type === 'part-extended' ? [[event.text, event.logProbabilities?.map(({ token }) => token)]] : [],
    )
  assert.deepEqual(said, [
    ['a', ['a']],
    ['😀', ['1', '2']],
    ['b', undefined],
  ])
})

test('log probabilities beyond half a million are left out, and the text goes on', () => {
  const writer = new PartWriter()
  const part = writer.start('text')
  const alternatives = Array.from({ length: 19 }, () => ({ token: 'y', logProbability: -2, alternatives: [] }))
  for (let i = 0; i < 26_000; i++) writer.extend(part, 'x', [{ token: 'x', logProbability: -1, alternatives }])
  const events = writer.take().filter((event) => event.type === 'part-extended')
  assert.equal(events.filter(({ logProbabilities }) => logProbabilities !== undefined).length, 25_000)
  assert.equal(events.length, 26_000)
  assert.equal(writer.full, false)
})

test('a call of a custom tool and a thought carry the provider’s extras', () => {
  const writer = new PartWriter()
  const call = writer.start('tool-call', { callId: 'c', toolName: 'patch', custom: true, namespace: 'files' })
  Object.assign(call, { signature: 's', format: 'f' })
  writer.extend(call, 'any text')
  writer.end(call)
  const thought = writer.start('reasoning-summary')
  Object.assign(thought, { encrypted: 'e', id: 'rs_1', format: 'f' })
  writer.end(thought)
  const [start, begun, , ended, , hidden] = writer.take()
  const special = { custom: true, namespace: 'files' }
  assert.deepEqual(start, { type: 'started', warnings: [] })
  assert.deepEqual(begun, {
    type: 'part-started',
    index: 0,
    kind: 'tool-call',
    callId: 'c',
    toolName: 'patch',
    ...special,
  })
  assert.deepEqual(ended?.type === 'part-ended' && ended.part, {
    ...{
      type: 'tool-call',
      callId: 'c',
      name: 'patch',
      arguments: 'any text',
      ...special,
      signature: 's',
      format: 'f',
    },
  })
  assert.deepEqual(hidden?.type === 'part-ended' && hidden.part, {
    ...{ type: 'reasoning', summary: undefined, encrypted: 'e', id: 'rs_1', format: 'f' },
  })
})

test('log probabilities that come while half a character is kept back cost no more than others', () => {
  const writer = new PartWriter()
  const part = writer.start('text')
  writer.extend(part, '\ud83d')
  const ms = cpuDuring(() => {
    for (let i = 0; i < 300_000; i++) writer.extend(part, '', [{ token: 'x', logProbability: -1, alternatives: [] }])
    writer.extend(part, '\ude00')
  })
  const last = writer.take().at(-1)
  assert.equal(last?.type === 'part-extended' && last.logProbabilities?.length, 300_000)
  // To copy all that came before takes far longer.
  assert.ok(ms < 10_000, `${ms} ms`)
})
