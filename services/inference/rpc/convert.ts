import type { MessageInitShape } from '@bufbuild/protobuf'
import {
  FinishReason as FinishReasonMessage,
  type Generation as GenerationMessage,
  GenerationSchema,
  LogProbabilitySchema,
  type Part as PartMessage,
  type PartSchema,
  type SourceSchema,
  type LogProbability as TokenMessage,
} from '#gen/portico/inference/v1/inference_pb.js'
import {
  type GenerationEvent as EventMessage,
  GenerationEventSchema,
  PartStarted_Kind,
} from '#gen/portico/inference/v1/inference_service_pb.js'
import { makeMessage } from '#shared/messages/make-message.ts'
import { enumTable } from '#shared/rpc/enum-table.ts'
import type { Part } from '../domain/conversation.ts'
import type { FinishReason, LogProbability, PartKind } from '../domain/generation.ts'
import type { MeteredEvent } from '../domain/meter.ts'
import type { Served } from '../run/generation.ts'
import { shownSettings } from './shown-settings.ts'

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

export function finishReasonToProto(reason: FinishReason): FinishReasonMessage {
  return finishReasons.toProto(reason)
}

/** Converts an event for the stream. */
export function eventToProto(event: MeteredEvent, served: Served): EventMessage {
  switch (event.type) {
    case 'part-extended':
      return extended(event)
    case 'started':
      return eventMessage({ case: 'started', value: startOf(event, served) })
    case 'part-started': {
      const { type: _, kind, ...started } = event
      return eventMessage({ case: 'partStarted', value: { ...given(started), kind: kinds.toProto(kind) } })
    }
    case 'part-ended':
      return eventMessage({ case: 'partEnded', value: { index: event.index, part: partInit(event.part) } })
    case 'source':
      return eventMessage({ case: 'source', value: given(event.source) })
    case 'finished':
      return eventMessage({ case: 'finished', value: endOf(event) })
  }
}

function eventMessage(event: NonNullable<MessageInitShape<typeof GenerationEventSchema>['event']>): EventMessage {
  return makeMessage(GenerationEventSchema, { event })
}

type GenerationInit = Exclude<MessageInitShape<typeof GenerationSchema>, GenerationMessage>

/** Converts all events of a generation to a whole one; throws if the last event is missing. */
export function generationToProto(events: readonly MeteredEvent[], served: Served): GenerationMessage {
  // Parts may interleave: they are in the order in which they began.
  const parts: PartInit[] = []
  const sources: MessageInitShape<typeof SourceSchema>[] = []
  const tokens: Record<number, LogProbability[]> = {}
  let [start, end]: [GenerationInit | undefined, GenerationInit | undefined] = [undefined, undefined]
  for (const event of events) {
    switch (event.type) {
      case 'started':
        start = startOf(event, served)
        break
      case 'part-extended': {
        const { index, logProbabilities } = event
        if (logProbabilities !== undefined) tokens[index] ??= []
        for (const token of logProbabilities ?? []) tokens[index]?.push(token)
        break
      }
      case 'part-ended':
        parts[event.index] = partInit(event.part)
        break
      case 'source':
        sources.push(given(event.source))
        break
      case 'finished':
        end = endOf(event)
    }
  }
  if (end === undefined) throw new Error('The generation ended without its last event')
  const logProbabilities = Object.fromEntries(
    Object.entries(tokens).map(([index, all]) => [index, { tokens: all.map(tokenToProto) }]),
  )
  return makeMessage(GenerationSchema, { ...start, parts, sources, logProbabilities, ...end })
}

function startOf({ warnings }: Extract<MeteredEvent, { type: 'started' }>, served: Served) {
  const { providerId, modelId } = served.endpoint
  const { shownPreset } = served
  const shown = shownPreset && { settings: shownSettings(shownPreset.settings), systemPrompt: shownPreset.systemPrompt }
  const preset = served.preset === undefined ? {} : { preset: { ...served.preset, ...(shown && given(shown)) } }
  const named = warnings.map(({ field, message }) => ({ field: served.ownField(field), message }))
  const warned = [...served.warnings, ...named]
  const endpointCount = served.endpoints.length
  return { model: `${providerId}/${modelId}`, providerId, warnings: warned, endpointCount, ...preset }
}

function endOf({ type: _, reason, usage, ...finished }: Extract<MeteredEvent, { type: 'finished' }>) {
  return { ...given(finished), reason: finishReasons.toProto(reason), usage: given(usage) }
}

/** What `create` makes, written out, at a tenth of the cost, since it is made for each word. */
function extended({ index, text, logProbabilities }: Extract<MeteredEvent, { type: 'part-extended' }>): EventMessage {
  const tokens = logProbabilities === undefined ? [] : logProbabilities.map(tokenToProto)
  const value = { $typeName: 'portico.inference.v1.PartExtended' as const, index, text, logProbabilities: tokens }
  return { $typeName: 'portico.inference.v1.GenerationEvent', event: { case: 'partExtended', value } }
}

function tokenToProto({ token, logProbability, bytes, alternatives }: LogProbability): TokenMessage {
  return makeMessage(LogProbabilitySchema, {
    token,
    logProbability,
    ...(bytes === undefined ? {} : { tokenBytes: bytes as Uint8Array<ArrayBuffer> }),
    alternatives: alternatives.map(tokenToProto),
  })
}

/** A record without undefined members, to the compiler: makeMessage ignores undefined. */
const given = <T extends object>(record: T) => record as { [K in keyof T]: Exclude<T[K], undefined> }

type PartInit = Exclude<MessageInitShape<typeof PartSchema>, PartMessage>

function partInit(part: Part): PartInit {
  const { providerMetadata } = part
  return providerMetadata === undefined ? { part: choiceOf(part) } : { part: choiceOf(part), providerMetadata }
}

function choiceOf(part: Part): NonNullable<PartInit['part']> {
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
      return { case: 'toolResult', value: { callId, content: content.map(partInit), failed, custom } }
    }
    case 'foreign':
      return { case: 'foreign', value: { format: part.format, item: part.item } }
  }
}
