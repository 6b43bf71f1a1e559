import { create, type MessageInitShape } from '@bufbuild/protobuf'
import type { RunToolRequest, RunToolResponseSchema } from '#gen/portico/catalog/v1/catalog_service_pb.js'
import { FinishReason, type GenerationRequest } from '#gen/portico/inference/v1/inference_pb.js'
import {
  GenerationEventSchema,
  type GenerationEvent as GenerationMessage,
  PartStarted_Kind as Kind,
} from '#gen/portico/inference/v1/inference_service_pb.js'
import { type AnyReason, Rejection } from '#shared/rejection.ts'

type GenerationEvent = MessageInitShape<typeof GenerationEventSchema>
/** An event as the inference service sends it. */
export function sent(event: GenerationEvent): GenerationMessage {
  return create(GenerationEventSchema, event)
}

type ToolResponse = MessageInitShape<typeof RunToolResponseSchema>

/** What the scripted model does in one generation; each item is a batch of events that arrive together. */
export type Turn = (request: GenerationRequest, signal: AbortSignal) => AsyncIterable<GenerationEvent[]>

/** What a scripted tool does. */
export type ToolScript = (request: RunToolRequest, signal: AbortSignal) => AsyncIterable<ToolResponse>

/** The model says something, word by word. */
export function text(words: string): Turn {
  return async function* () {
    yield [{ event: { case: 'started', value: { model: 'test/model', providerId: 'test' } } }]
    yield* textPart(0, words)
    yield [finished(FinishReason.STOP)]
  }
}

/** The model calls tools. */
export function calls(...wanted: { id: string; name: string; input?: object; raw?: string }[]): Turn {
  return async function* () {
    for (const [index, { id, name, input = {}, raw = JSON.stringify(input) }] of wanted.entries()) {
      yield [started(index, Kind.TOOL_CALL, id, name), extended(index, raw)]
      const part = { part: { case: 'toolCall', value: { callId: id, name, arguments: raw } } } as const
      yield [{ event: { case: 'partEnded', value: { index, part } } }]
    }
    yield [finished(FinishReason.TOOL_CALLS)]
  }
}

/** The model says something, then does nothing until it is stopped. */
export function hangs(words = 'Let me think'): Turn {
  return async function* (_, signal) {
    yield [started(0, Kind.TEXT), extended(0, words)]
    await new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
  }
}

/** The provider fails after some words. */
export function fails(reason: string, metadata: Record<string, string> = {}, words = ''): Turn {
  return async function* () {
    if (words !== '') yield [started(0, Kind.TEXT), extended(0, words)]
    throw new Rejection(reason as AnyReason, metadata)
  }
}

export function* textPart(index: number, words: string): Generator<GenerationEvent[]> {
  yield [started(index, Kind.TEXT)]
  for (const word of words.split(/(?<= )/)) yield [extended(index, word)]
  yield [{ event: { case: 'partEnded', value: { index, part: { part: { case: 'text', value: { text: words } } } } } }]
}

export function started(index: number, kind: Kind, callId = '', name = ''): GenerationEvent {
  return { event: { case: 'partStarted', value: { index, kind, toolCall: { callId, name } } } }
}

export function extended(index: number, more: string): GenerationEvent {
  return { event: { case: 'partExtended', value: { index, text: more } } }
}

/** The end of a generation that used 10 input (2 cached) and 5 output tokens (1 of thought) for 7 nano-dollars. */
export function finished(reason: FinishReason): GenerationEvent {
  const usage = { inputTokens: 10n, outputTokens: 5n, cacheReadTokens: 2n, cacheWriteTokens: 0n, reasoningTokens: 1n }
  return { event: { case: 'finished', value: { reason, rawReason: 'raw', usage, costNanos: 7n } } }
}

/** A tool that returns a text. */
export function says(answer: string): ToolScript {
  return async function* () {
    yield { event: { case: 'completed', value: { content: [{ content: { case: 'text', value: answer } }] } } }
  }
}

/** A tool that runs until it is stopped; `running` resolves when it has begun. */
export function hangingTool(): { readonly script: ToolScript; readonly running: Promise<void>; aborted: boolean } {
  const begun = Promise.withResolvers<void>()
  const tool = {
    running: begun.promise,
    aborted: false,
    script: async function* (_: RunToolRequest, signal: AbortSignal): AsyncGenerator<ToolResponse> {
      yield { event: { case: 'progressed', value: { metadata: { percent: 10 } } } }
      begun.resolve()
      await new Promise((_, reject) => {
        signal.addEventListener('abort', () => {
          tool.aborted = true
          reject(signal.reason)
        })
      })
    },
  }
  return tool
}
