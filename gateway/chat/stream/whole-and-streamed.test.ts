// Whatever a generation consists of: what a client makes of the chunks is the message of the whole answer.
import assert from 'node:assert/strict'
import test from 'node:test'
import { create, type MessageInitShape } from '@bufbuild/protobuf'
import fc from 'fast-check'
import { FinishReason, GenerationSchema, type PartSchema } from '#gen/portico/inference/v1/inference_pb.js'
import {
  type GenerationEvent,
  GenerationEventSchema,
  PartStarted_Kind as Kind,
} from '#gen/portico/inference/v1/inference_service_pb.js'
import { chunksOf, foldChunks } from '#test/support/chat.ts'
import { asJson } from '#test/support/generation.ts'
import type { Json } from '#test/support/responses.ts'
import { chatChunk } from '../chunk.ts'
import { chatCompletion } from '../completion.ts'
import { fromGeneration } from '../from-generation.ts'
import { ChatFold } from './fold.ts'
import { ChatFrames } from './frames.ts'

type PartInit = NonNullable<MessageInitShape<typeof PartSchema>['part']>

/** A part, and the pieces by which it grows. */
interface Piece {
  readonly kind: Kind
  readonly started: object
  readonly pieces: readonly string[]
  readonly part: PartInit
}

const seed = { id: 'gen-1', created: 5, model: 'x', describe: undefined }
const words = fc.array(fc.string({ minLength: 1, maxLength: 5, unit: 'grapheme' }), { maxLength: 4 })
const maybe = fc.option(fc.string({ minLength: 1, maxLength: 5 }), { nil: undefined })
const proof = fc.record({ signature: maybe, encrypted: maybe, id: maybe, format: maybe })

const piece: fc.Arbitrary<Piece> = fc.oneof(
  words.map((pieces): Piece => {
    return { kind: Kind.TEXT, started: {}, pieces, part: { case: 'text', value: { text: pieces.join('') } } }
  }),
  words.map((pieces): Piece => {
    return { kind: Kind.REFUSAL, started: {}, pieces, part: { case: 'refusal', value: { text: pieces.join('') } } }
  }),
  fc.tuple(words, proof, fc.boolean()).map(([pieces, proofs, short]): Piece => {
    const text = pieces.join('')
    const value = { ...(short ? { summary: text } : { text }), ...proofs }
    const kind = short ? Kind.REASONING_SUMMARY : Kind.REASONING
    return { kind, started: {}, pieces, part: { case: 'reasoning', value } }
  }),
  fc.tuple(words, fc.string(), fc.boolean()).map(([pieces, name, custom]): Piece => {
    const value = { callId: 'c', name, arguments: pieces.join(''), custom }
    const started = { toolCall: { callId: 'c', name, custom } }
    return { kind: Kind.TOOL_CALL, started, pieces, part: { case: 'toolCall', value } }
  }),
  fc.string().map((a): Piece => {
    return {
      kind: Kind.FOREIGN,
      started: {},
      pieces: [],
      part: { case: 'foreign', value: { format: 'f', item: { a } } },
    }
  }),
  fc.webUrl().map((value): Piece => {
    return {
      kind: Kind.IMAGE,
      started: {},
      pieces: [],
      part: { case: 'image', value: { source: { case: 'url', value } } },
    }
  }),
)

type Init = NonNullable<MessageInitShape<typeof GenerationEventSchema>['event']>
const event = (init: Init): GenerationEvent => create(GenerationEventSchema, { event: init })

function streamed(pieces: readonly Piece[]): Json {
  const frames = new ChatFrames(seed)
  const fold = new ChatFold(seed, frames)
  fold.add([event({ case: 'started', value: { model: 'a/b', providerId: 'a' } })])
  for (const [index, { kind, started, pieces: grown, part }] of pieces.entries()) {
    fold.add([event({ case: 'partStarted', value: { index, kind, ...started } })])
    for (const text of grown) fold.add([event({ case: 'partExtended', value: { index, text } })])
    fold.add([event({ case: 'partEnded', value: { index, part: { part } } })])
  }
  fold.add([event({ case: 'finished', value: { reason: FinishReason.STOP } })])
  const chunks = chunksOf(frames.take())
  for (const chunk of chunks) chatChunk.parse(chunk)
  return withoutEmptyWords(foldChunks(chunks))
}

function whole(pieces: readonly Piece[]): Json {
  const parts = pieces.map(({ part }) => ({ part }))
  const generation = create(GenerationSchema, { model: 'a/b', providerId: 'a', parts, reason: FinishReason.STOP })
  const completion = asJson(chatCompletion.parse(fromGeneration(seed, generation))) as Json
  return withoutEmptyWords(completion.choices[0].message)
}

/** An empty text counts as absent; and a thought's id in several of its details is one id. */
function withoutEmptyWords({ content, refusal, reasoning_details: details, ...message }: Json): Json {
  return { ...message, content: content || null, refusal: refusal || null, details: thoughtsOf(details ?? []) }
}

/** What the details of each thought say together. */
function thoughtsOf(details: readonly Json[]): unknown[] {
  const thoughts: Json[] = []
  for (const { index, type, text = '', ...detail } of details) {
    const said = Object.fromEntries(Object.entries({ text, ...detail }).filter(([, value]) => value !== ''))
    thoughts[index] = { ...thoughts[index], ...said }
  }
  return thoughts.filter((thought) => Object.keys(thought ?? {}).some((name) => name !== 'id' && name !== 'format'))
}

test('a client gets the same message, whole and streamed', () => {
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 6 }), (pieces) => {
      assert.deepEqual(streamed(pieces), whole(pieces))
    }),
    { numRuns: 500 },
  )
})
