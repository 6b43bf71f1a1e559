import { create, type MessageInitShape } from '@bufbuild/protobuf'
import {
  FinishReason as FinishReasonMessage,
  type Generation as GenerationMessage,
  GenerationSchema,
  LogProbabilitiesSchema,
  LogProbabilitySchema,
  type Part as PartMessage,
  PartSchema,
  type LogProbability as TokenMessage,
} from '#gen/portico/inference/v1/inference_pb.js'
import {
  type GenerationEvent as EventMessage,
  GenerationEventSchema,
  PartStarted_Kind,
} from '#gen/portico/inference/v1/inference_service_pb.js'
import { enumTable } from '#shared/rpc/enum-table.ts'
import type { Part } from '../domain/conversation.ts'
import type { FinishReason, LogProbability, PartKind, Usage } from '../domain/generation.ts'
import type { MeteredEvent } from '../domain/meter.ts'
import type { Served } from '../run/generation.ts'

const kinds = enumTable<PartKind, PartStarted_Kind>({
  text: PartStarted_Kind.TEXT,
  reasoning: PartStarted_Kind.REASONING,
  'reasoning-summary': PartStarted_Kind.REASONING_SUMMARY,
  'tool-call': PartStarted_Kind.TOOL_CALL,
  refusal: PartStarted_Kind.REFUSAL,
  image: PartStarted_Kind.IMAGE,
  file: PartStarted_Kind.FILE,
  foreign: PartStarted_Kind.FOREIGN,
})

const finishReasons = enumTable<FinishReason, FinishReasonMessage>({
  stop: FinishReasonMessage.STOP,
  length: FinishReasonMessage.LENGTH,
  'tool-calls': FinishReasonMessage.TOOL_CALLS,
  'content-filter': FinishReasonMessage.CONTENT_FILTER,
  other: FinishReasonMessage.OTHER,
})

/** Why a generation ended. */
export function finishReasonToProto(reason: FinishReason): FinishReasonMessage {
  return finishReasons.toProto(reason)
}

/** An event as a message of the stream. */
export function eventToProto(event: MeteredEvent, served: Served): EventMessage {
  switch (event.type) {
    case 'part-extended':
      return extended(event)
    case 'started': {
      const { providerId, modelId } = served.endpoint
      const warnings = [...served.warnings, ...event.warnings].map((warning) => ({ ...warning }))
      const preset = served.preset === undefined ? {} : { preset: { ...served.preset, ...served.shownPreset } }
      const value = { model: `${providerId}/${modelId}`, providerId, warnings, ...preset }
      return create(GenerationEventSchema, { event: { case: 'started', value } })
    }
    case 'part-started': {
      const { type: _, kind, ...started } = event
      const value = { ...given(started), kind: kinds.toProto(kind) }
      return create(GenerationEventSchema, { event: { case: 'partStarted', value } })
    }
    case 'part-ended': {
      const value = { index: event.index, part: partToProto(event.part) }
      return create(GenerationEventSchema, { event: { case: 'partEnded', value } })
    }
    case 'source':
      return create(GenerationEventSchema, { event: { case: 'source', value: given({ ...event.source }) } })
    case 'finished': {
      const { type: _, reason, usage, ...finished } = event
      const value = { ...given(finished), reason: finishReasons.toProto(reason), ...usageToProto(usage) }
      return create(GenerationEventSchema, { event: { case: 'finished', value } })
    }
  }
}

/** A whole generation, from all its events; throws where the last one is missing. */
export function generationToProto(events: readonly MeteredEvent[], served: Served): GenerationMessage {
  const generation = create(GenerationSchema)
  let finished = false
  for (const event of events) {
    if (event.type === 'part-started') continue
    if (event.type === 'part-extended') {
      if (event.logProbabilities !== undefined) addTokens(generation, event.index, event.logProbabilities)
      continue
    }
    const { event: message } = eventToProto(event, served)
    switch (message.case) {
      case 'started': {
        const { $typeName: _, ...start } = message.value
        Object.assign(generation, start)
        break
      }
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
function extended({ index, text, logProbabilities }: Extract<MeteredEvent, { type: 'part-extended' }>): EventMessage {
  const tokens = logProbabilities === undefined ? [] : logProbabilities.map(tokenToProto)
  const value = { $typeName: 'portico.inference.v1.PartExtended' as const, index, text, logProbabilities: tokens }
  return { $typeName: 'portico.inference.v1.GenerationEvent', event: { case: 'partExtended', value } }
}

function addTokens(generation: GenerationMessage, index: number, tokens: readonly LogProbability[]): void {
  generation.logProbabilities[index] ??= create(LogProbabilitiesSchema)
  const all = generation.logProbabilities[index].tokens
  for (const token of tokens) all.push(tokenToProto(token))
}

function tokenToProto({ token, logProbability, bytes, alternatives }: LogProbability): TokenMessage {
  return create(LogProbabilitySchema, {
    token,
    logProbability,
    ...(bytes === undefined ? {} : { tokenBytes: bytes as Uint8Array<ArrayBuffer> }),
    alternatives: alternatives.map(tokenToProto),
  })
}

function usageToProto(usage: Usage | undefined) {
  return usage === undefined ? {} : { usage: given(usage) }
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
    case 'refusal': {
      const { text, phase } = part
      return { case: part.type, value: { text, phase } }
    }
    case 'image':
    case 'file':
    case 'audio':
    case 'video': {
      const { source, mime, name, detail } = part
      const from =
        'url' in source
          ? ({ case: 'url', value: source.url } as const)
          : ({ case: 'data', value: source.data as Uint8Array<ArrayBuffer> } as const)
      return { case: part.type, value: { source: from, mime, name, detail } }
    }
    case 'reasoning': {
      const { text, summary, signature, encrypted, id, format } = part
      return { case: 'reasoning', value: { text, summary, signature, encrypted, id, format } }
    }
    case 'tool-call': {
      const { callId, name, arguments: text, custom = false, namespace, signature, format } = part
      return { case: 'toolCall', value: { callId, name, arguments: text, custom, namespace, signature, format } }
    }
    case 'tool-result': {
      const { callId, content, failed, custom = false } = part
      return { case: 'toolResult', value: { callId, content: content.map(partToProto), failed, custom } }
    }
    case 'foreign':
      return { case: 'foreign', value: { format: part.format, item: part.item } }
  }
}
