import { create, type MessageInitShape } from '@bufbuild/protobuf'
import {
  FinishReason as FinishReasonMessage,
  type Part as PartMessage,
  PartSchema,
} from '#gen/portico/inference/v1/inference_pb.js'
import {
  type GenerationEvent as EventMessage,
  GenerationEventSchema,
  PartStarted_Kind,
  type StreamGenerateResponse,
} from '#gen/portico/inference/v1/inference_service_pb.js'
import type { Part } from '../domain/conversation.ts'
import type { FinishReason, PartKind } from '../domain/generation.ts'
import type { MeteredEvent } from '../domain/metered.ts'

const KINDS: Readonly<Record<PartKind, PartStarted_Kind>> = {
  text: PartStarted_Kind.TEXT,
  reasoning: PartStarted_Kind.REASONING,
  'reasoning-summary': PartStarted_Kind.REASONING_SUMMARY,
  'tool-call': PartStarted_Kind.TOOL_CALL,
  refusal: PartStarted_Kind.REFUSAL,
  image: PartStarted_Kind.IMAGE,
  file: PartStarted_Kind.FILE,
}

const FINISH_REASONS: Readonly<Record<FinishReason, FinishReasonMessage>> = {
  stop: FinishReasonMessage.STOP,
  length: FinishReasonMessage.LENGTH,
  'tool-calls': FinishReasonMessage.TOOL_CALLS,
  'content-filter': FinishReasonMessage.CONTENT_FILTER,
  other: FinishReasonMessage.OTHER,
}

/** A batch as a message of the stream; what `create` makes, written out. */
export function toResponse(batch: readonly MeteredEvent[], providerId: string, model: string): StreamGenerateResponse {
  const events = batch.map((event) => toEvent(event, providerId, model))
  return { $typeName: 'portico.inference.v1.StreamGenerateResponse', events }
}

function toEvent(event: MeteredEvent, providerId: string, model: string): EventMessage {
  switch (event.type) {
    case 'part-extended':
      return extended(event.index, event.text)
    case 'started':
      return create(GenerationEventSchema, { event: { case: 'started', value: { model, providerId } } })
    case 'part-started': {
      const { index, callId, toolName } = event
      const value = { index, kind: KINDS[event.kind], callId, toolName }
      return create(GenerationEventSchema, { event: { case: 'partStarted', value } })
    }
    case 'part-ended': {
      const value = { index: event.index, part: toPart(event.part) }
      return create(GenerationEventSchema, { event: { case: 'partEnded', value } })
    }
    case 'finished': {
      const { rawReason, usage, costNanos, outputCostNanos } = event
      const value = {
        reason: FINISH_REASONS[event.reason],
        rawReason,
        costNanos,
        outputCostNanos,
        ...(usage && { usage: { ...usage } }),
      }
      return create(GenerationEventSchema, { event: { case: 'finished', value } })
    }
  }
}

/** What `create` makes, written out: it is made once for each word, and that way costs a tenth. */
function extended(index: number, text: string): EventMessage {
  const value = { $typeName: 'portico.inference.v1.PartExtended', index, text } as const
  return { $typeName: 'portico.inference.v1.GenerationEvent', event: { case: 'partExtended', value } }
}

function toPart(part: Part): PartMessage {
  return create(PartSchema, { part: partInit(part) })
}

function partInit(part: Part): NonNullable<MessageInitShape<typeof PartSchema>['part']> {
  switch (part.type) {
    case 'text':
    case 'refusal':
      return { case: part.type, value: { text: part.text } }
    case 'image':
    case 'file':
    case 'audio': {
      const { source, mime, name, detail } = part
      const from =
        'url' in source
          ? ({ case: 'url', value: source.url } as const)
          : ({ case: 'data', value: source.data as Uint8Array<ArrayBuffer> } as const)
      return { case: part.type, value: { source: from, mime, name, detail } }
    }
    case 'reasoning': {
      const { text, summary, signature, encrypted, id } = part
      return { case: 'reasoning', value: { text, summary, signature, encrypted, id } }
    }
    case 'tool-call':
      return { case: 'toolCall', value: { callId: part.callId, name: part.name, arguments: part.arguments } }
    case 'tool-result': {
      const { callId, content, failed } = part
      return { case: 'toolResult', value: { callId, content: content.map(toPart), failed } }
    }
  }
}
