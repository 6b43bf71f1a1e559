import assert from 'node:assert/strict'
import { test } from 'node:test'
import { create } from '@bufbuild/protobuf'
import { FinishReason, LogProbabilitySchema } from '#gen/portico/inference/v1/inference_pb.js'
import { PartStarted_Kind as Kind } from '#gen/portico/inference/v1/inference_service_pb.js'
import type { JsonObject } from '#shared/json.ts'
import { flat } from '#test/support/generation.ts'
import { cpuDuring } from '#test/support/held.ts'
import { PartWriter } from './parts.ts'

const LIMIT = 1_000_000

function deltasOf(writer: PartWriter): string[] {
  return flat(writer.take()).flatMap((event) => (event.case === 'partExtended' ? [event.text] : []))
}

test('a character that arrives in two halves is passed on as one', () => {
  const writer = new PartWriter()
  const part = writer.start(Kind.TEXT)
  for (const text of ['a\ud83d', '\ude00b', '\ud83d', '\ude00']) writer.extend(part, text)
  writer.end(part)
  assert.deepEqual([deltasOf(writer), part.text.toString()], [['a', '😀b', '😀'], 'a😀b😀'])
})

test('half a character that stays alone becomes a replacement character, in a delta and in the whole alike', () => {
  const writer = new PartWriter()
  const part = writer.start(Kind.TEXT)
  for (const text of ['\ud800', 'x', '\udc00', '\ud801']) writer.extend(part, text)
  writer.end(part)
  assert.deepEqual([deltasOf(writer).join(''), part.text.toString()], ['\ufffdx\ufffd\ufffd', '\ufffdx\ufffd\ufffd'])
})

test('an item, or a note, that is nested deeper than a request may contain is left out, and the answer goes on', () => {
  const writer = new PartWriter()
  const part = writer.start(Kind.TEXT)
  assert.deepEqual(
    [30, 31].map((levels) => writer.note(part, 'citations', deep(levels))),
    [true, false],
  )
  for (const levels of [30, 31, 20_000]) {
    writer.whole({ case: 'foreign', value: { format: 'f', item: deep(levels) } })
  }
  writer.end(part)
  const ended = flat(writer.take()).filter(({ case: name }) => name === 'partEnded')
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
    text: (writer) => writer.extend(writer.start(Kind.TEXT), 'x'.repeat(LIMIT)),
    several: (writer) => {
      for (const kind of [Kind.TEXT, Kind.TOOL_CALL] as const) writer.extend(writer.start(kind), 'x'.repeat(LIMIT / 2))
    },
    signature: (writer) => {
      const part = writer.start(Kind.REASONING)
      part.signature = 'x'.repeat(LIMIT)
      writer.end(part)
    },
    'the proof of a call': (writer) => {
      const proof = { signature: 'x'.repeat(LIMIT), format: 'f' }
      writer.end(writer.start(Kind.TOOL_CALL, { callId: 'c', name: 't', ...proof }))
    },
    encrypted: (writer) => writer.whole({ case: 'reasoning', value: { encrypted: 'x'.repeat(LIMIT) } }),
    foreign: (writer) => writer.whole({ case: 'foreign', value: { format: 'f', item: { x: 'x'.repeat(LIMIT) } } }),
    notes: (writer) => {
      const part = writer.start(Kind.TEXT)
      for (let index = 0; writer.note(part, 'annotations', { index }); index++);
    },
    parts: (writer) => {
      for (let index = 0; index <= LIMIT / 200; index++) writer.end(writer.start(Kind.TEXT))
    },
  }
  for (const [name, write] of Object.entries(sizes)) {
    const writer = new PartWriter()
    write(writer)
    assert.equal(writer.full, true, name)
    writer.finish(FinishReason.STOP, 'y'.repeat(LIMIT))
    const events = flat(writer.take())
    assert.equal(events.at(-1)?.reason, FinishReason.LENGTH, name)
    assert.ok(name === 'parts' || JSON.stringify(events).length < LIMIT + 2_000, name)
  }
})

test('a cut leaves no half character', () => {
  const writer = new PartWriter()
  const part = writer.start(Kind.TEXT)
  writer.extend(part, `x${'😀'.repeat(LIMIT)}`)
  const text = part.text.toString()
  assert.equal(text.isWellFormed() && !text.includes('\ufffd'), true)
})

test('log probabilities come with the text of their tokens, even if a character arrives in two halves', () => {
  const writer = new PartWriter()
  const part = writer.start(Kind.TEXT)
  const token = (text: string) => create(LogProbabilitySchema, { token: text, logProbability: -1 })
  writer.extend(part, 'a', [token('a')])
  writer.extend(part, '\ud83d', [token('1')])
  writer.extend(part, '\ude00', [token('2')])
  writer.extend(part, 'b')
  writer.end(part)
  const said = flat(writer.take()).flatMap((event) =>
    event.case === 'partExtended' ? [[event.text, event.logProbabilities?.map(({ token }) => token)]] : [],
  )
  assert.deepEqual(said, [
    ['a', ['a']],
    ['😀', ['1', '2']],
    ['b', undefined],
  ])
})

test('log probabilities beyond half a million are left out, and the text goes on', () => {
  const writer = new PartWriter()
  const part = writer.start(Kind.TEXT)
  const alternatives = Array.from({ length: 19 }, () => ({ token: 'y', logProbability: -2 }))
  const token = create(LogProbabilitySchema, { token: 'x', logProbability: -1, alternatives })
  for (let i = 0; i < 26_000; i++) writer.extend(part, 'x', [token])
  const events = flat(writer.take()).filter((event) => event.case === 'partExtended')
  assert.equal(events.filter(({ logProbabilities }) => logProbabilities !== undefined).length, 25_000)
  assert.equal(events.length, 26_000)
  assert.equal(writer.full, false)
})

test('a call of a custom tool and a thought carry the provider’s extras', () => {
  const writer = new PartWriter()
  const call = writer.start(Kind.TOOL_CALL, { callId: 'c', name: 'patch', custom: true, namespace: 'files' })
  Object.assign(call, { signature: 's', format: 'f' })
  writer.extend(call, 'any text')
  writer.end(call)
  const thought = writer.start(Kind.REASONING_SUMMARY)
  Object.assign(thought, { encrypted: 'e', id: 'rs_1', format: 'f' })
  writer.end(thought)
  const [start, begun, , ended, , hidden] = flat(writer.take())
  const special = { custom: true, namespace: 'files' }
  assert.deepEqual(start, { case: 'started' })
  assert.deepEqual(begun, {
    case: 'partStarted',
    index: 0,
    kind: Kind.TOOL_CALL,
    toolCall: { callId: 'c', name: 'patch', ...special },
  })
  assert.deepEqual(ended?.case === 'partEnded' && ended.part, {
    ...{
      case: 'toolCall',
      callId: 'c',
      name: 'patch',
      arguments: 'any text',
      ...special,
      signature: 's',
      format: 'f',
    },
  })
  assert.deepEqual(hidden?.case === 'partEnded' && hidden.part, {
    ...{ case: 'reasoning', encrypted: 'e', id: 'rs_1', format: 'f' },
  })
})

test('log probabilities that come while half a character is kept back cost no more than others', () => {
  const writer = new PartWriter()
  const part = writer.start(Kind.TEXT)
  writer.extend(part, '\ud83d')
  const token = create(LogProbabilitySchema, { token: 'x', logProbability: -1 })
  const ms = cpuDuring(() => {
    for (let i = 0; i < 300_000; i++) writer.extend(part, '', [token])
    writer.extend(part, '\ude00')
  })
  const last = flat(writer.take()).at(-1)
  assert.equal(last?.case === 'partExtended' && last.logProbabilities.length, 300_000)
  // To copy all that came before takes far longer.
  assert.ok(ms < 10_000, `${ms} ms`)
})
