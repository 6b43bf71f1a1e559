import { create, type MessageInitShape } from '@bufbuild/protobuf'
import {
  FinishReason as FinishReasonMessage,
  type Generation as GenerationMessage,
  GenerationSchema,
  type Part as PartMessage,
  PartSchema,
} from '#gen/portico/inference/v1/inference_pb.js'
import {
  type GenerationEvent as EventMessage,
  GenerationEventSchema,
  PartStarted_Kind,
} from '#gen/portico/inference/v1/inference_service_pb.js'
import { enumTable } from '#shared/rpc/enum-table.ts'
import type { Part } from '../domain/conversation.ts'
import type { FinishReason, PartKind, Usage } from '../domain/generation.ts'
import type { MeteredEvent } from '../domain/meter.ts'
import type { Endpoint } from '../domain/model-list.ts'

const kinds = enumTable<PartKind, PartStarted_Kind>({
  text: PartStarted_Kind.TEXT,
  reasoning: PartStarted_Kind.REASONING,
  'reasoning-summary': PartStarted_Kind.REASONING_SUMMARY,
  'tool-call': PartStarted_Kind.TOOL_CALL,
  refusal: PartStarted_Kind.REFUSAL,
  image: PartStarted_Kind.IMAGE,
  file: PartStarted_Kind.FILE,
})

const finishReasons = enumTable<FinishReason, FinishReasonMessage>({
  stop: FinishReasonMessage.STOP,
  length: FinishReasonMessage.LENGTH,
  'tool-calls': FinishReasonMessage.TOOL_CALLS,
  'content-filter': FinishReasonMessage.CONTENT_FILTER,
  other: FinishReasonMessage.OTHER,
})

/** An event as a message of the stream. */
export function eventToProto(event: MeteredEvent, { providerId, modelId }: Endpoint): EventMessage {
  switch (event.type) {
    case 'part-extended':
      return extended(event.index, event.text)
    case 'started': {
      const model = `${providerId}/${modelId}`
      const value = { model, providerId, warnings: event.warnings.map((warning) => ({ ...warning })) }
      return create(GenerationEventSchema, { event: { case: 'started', value } })
    }
    case 'part-started': {
      const { index, callId, toolName } = event
      const value = { index, kind: kinds.toProto(event.kind), callId, toolName }
      return create(GenerationEventSchema, { event: { case: 'partStarted', value } })
    }
    case 'part-ended': {
      const value = { index: event.index, part: partToProto(event.part) }
      return create(GenerationEventSchema, { event: { case: 'partEnded', value } })
    }
    case 'source':
      return create(GenerationEventSchema, { event: { case: 'source', value: given({ ...event.source }) } })
    case 'finished': {
      const { rawReason, usage, costNanos, outputCostNanos } = event
      const value = {
        reason: finishReasons.toProto(event.reason),
        rawReason,
        costNanos,
        outputCostNanos,
        ...usageToProto(usage),
      }
      return create(GenerationEventSchema, { event: { case: 'finished', value } })
    }
  }
}

/** A whole generation, from all its events; throws where the last one is missing. */
export function generationToProto(events: readonly MeteredEvent[], endpoint: Endpoint): GenerationMessage {
  const generation = create(GenerationSchema)
  let finished = false
  for (const event of events) {
    if (event.type === 'part-started' || event.type === 'part-extended') continue
    const { event: message } = eventToProto(event, endpoint)
    switch (message.case) {
      case 'started':
        generation.model = message.value.model
        generation.providerId = message.value.providerId
        generation.warnings = message.value.warnings
        break
      case 'partEnded':
        // Parts may interleave: they stand in the order in which they began.
        if (message.value.part !== undefined) generation.parts[message.value.index] = message.value.part
        break
      case 'source':
        generation.sources.push(message.value)
        break
      case 'finished': {
        const { $typeName: _, ...end } = message.value
        Object.assign(generation, end)
        finished = true
      }
    }
  }
  if (!finished) throw new Error('The generation ended without its last event')
  return generation
}

/** What `create` makes, written out: it is made once for each word, and that way costs a tenth. */
function extended(index: number, text: string): EventMessage {
  const value = { $typeName: 'portico.inference.v1.PartExtended' as const, index, text, logProbabilities: [] }
  return { $typeName: 'portico.inference.v1.GenerationEvent', event: { case: 'partExtended', value } }
}

function usageToProto(usage: Usage | undefined) {
  return usage === undefined ? {} : { usage: { ...usage } }
}

/** A record without what is undefined. */
function given<T extends object>(record: T) {
  return Object.fromEntries(Object.entries(record).filter(([, value]) => value !== undefined))
}

function partToProto(part: Part): PartMessage {
  const { providerMetadata } = part
  const metadata = providerMetadata === undefined ? {} : { providerMetadata }
  return create(PartSchema, { part: partInit(part), ...metadata })
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
      return { case: 'toolResult', value: { callId, content: content.map(partToProto), failed } }
    }
  }
}
