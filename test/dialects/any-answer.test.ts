// Whatever an answer of a provider is changed to, it is refused, or every dialect presents it and takes it back.
import assert from 'node:assert/strict'
import { readdirSync } from 'node:fs'
import { test } from 'node:test'
import { create, fromBinary, toBinary } from '@bufbuild/protobuf'
import fc from 'fast-check'
import type { z } from 'zod'
import { createChatBody } from '#gateway/chat/body.ts'
import { chatChunk } from '#gateway/chat/chunk.ts'
import { chatCompletion } from '#gateway/chat/completion.ts'
import { fromGeneration as toCompletion } from '#gateway/chat/from-generation.ts'
import { ChatFold } from '#gateway/chat/stream/fold.ts'
import { ChatFrames } from '#gateway/chat/stream/frames.ts'
import { messageObject } from '#gateway/messages/answer.ts'
import { createMessageBody } from '#gateway/messages/body.ts'
import { messageEvent } from '#gateway/messages/events.ts'
import { fromGeneration as toMessage } from '#gateway/messages/from-generation.ts'
import { MessagesFold } from '#gateway/messages/stream/fold.ts'
import { MessageFrames } from '#gateway/messages/stream/frames.ts'
import { createResponseBody } from '#gateway/responses/body.ts'
import { requestEcho } from '#gateway/responses/echo.ts'
import { responseEvent } from '#gateway/responses/events.ts'
import { fromGeneration as toResponse } from '#gateway/responses/from-generation.ts'
import { responseObject } from '#gateway/responses/response.ts'
import { ResponsesFold } from '#gateway/responses/stream/fold.ts'
import { ResponsesFrames } from '#gateway/responses/stream/frames.ts'
import { type Generation, GenerationSchema } from '#gen/portico/inference/v1/inference_pb.js'
import { StreamGenerateResponseSchema } from '#gen/portico/inference/v1/inference_service_pb.js'
import { AnthropicMapper } from '#services/inference/adapters/anthropic/mapper.ts'
import type { ProviderMapper } from '#services/inference/adapters/http/provider-call.ts'
import { OpenaiMapper } from '#services/inference/adapters/openai/mapper.ts'
import { ResponsesMapper } from '#services/inference/adapters/openai-responses/mapper.ts'
import { Meter } from '#services/inference/domain/meter.ts'
import { eventForCaller, wholeOf } from '#services/inference/rpc/generations.ts'
import type { JsonObject, JsonValue } from '#shared/json.ts'
import { Rejection } from '#shared/rejection.ts'
import { fixture } from '#test/support/provider-stub.ts'
import type { Json } from '#test/support/responses.ts'

const endpoint = { providerId: 'p', modelId: 'm', pricing: undefined }
const served = {
  endpoint,
  endpoints: [endpoint] as [typeof endpoint],
  warnings: [],
  preset: undefined,
  ownField: (field: string) => field,
}
const text = 'x'.repeat(24)
const completion = { id: `gen-${text}`, created: 1, model: 'm', describe: undefined }
const message = { id: `msg_${text}`, speed: null }
const echo = requestEcho(createResponseBody.parse({ model: 'm', input: 'Hello' }))
const response = { id: `resp_${text}`, createdAt: 1, model: 'm', echo }

const GO_ON = { role: 'user', content: 'Go on.' }

/** How each dialect presents an answer, whole and streamed. */
const DIALECTS: readonly {
  readonly whole: readonly [z.ZodType, (generation: Generation) => unknown]
  /** The schema of a request that has the answer in its history, and the history. */
  readonly next: readonly [z.ZodType, (answer: Json) => object]
  readonly streamed: readonly [z.ZodType, () => { fold: Pick<ChatFold, 'add'>; frames: { take(): string } }]
}[] = [
  {
    whole: [chatCompletion, (generation) => toCompletion(completion, generation)],
    next: [createChatBody, ({ choices }) => ({ messages: [choices[0].message, GO_ON] })],
    streamed: [
      chatChunk,
      () => {
        const frames = new ChatFrames(completion)
        return { frames, fold: new ChatFold(completion, frames) }
      },
    ],
  },
  {
    whole: [messageObject, (generation) => toMessage(message, generation)],
    next: [createMessageBody, ({ role, content }) => ({ messages: [{ role, content }, GO_ON] })],
    streamed: [
      messageEvent,
      () => {
        const frames = new MessageFrames()
        return { frames, fold: new MessagesFold(message, frames, () => undefined) }
      },
    ],
  },
  {
    whole: [responseObject, (generation) => toResponse(response, generation, 1)],
    next: [createResponseBody, ({ output }) => ({ input: [...output, GO_ON] })],
    streamed: [
      responseEvent,
      () => {
        const frames = new ResponsesFrames('both')
        return { frames, fold: new ResponsesFold(response, frames, () => 1) }
      },
    ],
  },
]

const ODD: readonly JsonValue[] = [
  ...[null, 0, -1, 1.5, 1e308, true, '', 'x', '\ud83d', '__proto__'],
  ...[[], {}, [null], [1], { a: 1 }],
]

/** A value that is changed here and there, as numbers below 1 decide: one of 40 is replaced or left out. */
function changed(value: JsonValue, next: () => number): JsonValue {
  if (Array.isArray(value)) return value.map((item) => maybeOdd(item, next))
  if (typeof value !== 'object' || value === null) return value
  const members = Object.entries(value).filter(() => next() > 0.0125)
  return Object.fromEntries(members.map(([name, member]) => [name, maybeOdd(member as JsonValue, next)]))
}

function maybeOdd(value: JsonValue, next: () => number): JsonValue {
  return next() < 0.0125 ? (ODD[Math.floor(next() * ODD.length)] ?? null) : changed(value, next)
}

function numbersOf(seed: number): () => number {
  let state = seed
  return () => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0
    return state / 2 ** 32
  }
}

const MAPPERS: readonly [RegExp, () => ProviderMapper][] = [
  [/^(openai|openrouter|ollama)-/, () => new OpenaiMapper('p', [])],
  [/^anthropic-/, () => new AnthropicMapper('p', [])],
  [/^responses-/, () => new ResponsesMapper('p', [], ['END'])],
]

/** Gives a changed answer to its mapper; returns whether that took it. */
function takes(mapper: ProviderMapper, name: string, next: () => number): boolean {
  const change = (json: string): JsonValue => changed(JSON.parse(json), next)
  try {
    if (name.endsWith('.json')) mapper.whole(change(fixture(name)) as JsonObject)
    else {
      for (const [, data = ''] of fixture(name).matchAll(/^data: (.*)$/gm)) {
        mapper.push(data.startsWith('{') ? JSON.stringify(change(data)) : data)
      }
      mapper.end()
    }
    return true
  } catch (error) {
    assert.ok(error instanceof Rejection, String(error instanceof Error ? error.stack : error))
    return false
  }
}

function fits(schema: z.ZodType, value: unknown): void {
  const { error } = schema.safeParse(value)
  assert.equal(error, undefined, JSON.stringify(value))
}

for (const name of readdirSync(new URL('../fixtures/providers/', import.meta.url))) {
  const open = MAPPERS.find(([names]) => names.test(name))?.[1] ?? assert.fail(name)
  test(`${name}: an answer with any change is refused, or shown by every dialect and accepted back as history`, () => {
    fc.assert(
      fc.property(fc.nat(), (seed) => {
        const mapper = open()
        const isWhole = takes(mapper, name, numbersOf(seed))
        const taken = new Meter(undefined, 5n).take(mapper.take())
        const events = taken.map((event) => eventForCaller(event, served))
        const sent = create(StreamGenerateResponseSchema, { events })
        fromBinary(StreamGenerateResponseSchema, toBinary(StreamGenerateResponseSchema, sent))
        for (const { streamed } of DIALECTS) {
          const [schema, begin] = streamed
          const { fold, frames } = begin()
          fold.add(events)
          for (const [, data = ''] of frames.take().matchAll(/^data: (\{.*)$/gm)) fits(schema, JSON.parse(data))
        }
        if (!isWhole) return
        const generation = wholeOf(taken.map((event) => eventForCaller(event, served)))
        fromBinary(GenerationSchema, toBinary(GenerationSchema, generation))
        for (const { whole, next } of DIALECTS) {
          const answer = JSON.parse(JSON.stringify(whole[1](generation)))
          fits(whole[0], answer)
          fits(next[0], { model: 'm', ...next[1](answer) })
        }
      }),
      { numRuns: 200 },
    )
  })
}
