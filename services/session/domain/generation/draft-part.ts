import { create, type MessageInitShape } from '@bufbuild/protobuf'
import type { ModelRef } from '#gen/portico/catalog/v1/catalog_pb.js'
import { PartStarted_Kind as Kind, type PartStarted } from '#gen/portico/inference/v1/inference_service_pb.js'
import { PartRef_Kind, type PartRefSchema } from '#gen/portico/session/v1/event_pb.js'
import {
  type AssistantPart,
  AssistantPartSchema,
  AssistantTool_State as State,
} from '#gen/portico/session/v1/message_pb.js'
import { callsOf, type MessageOf, messageOf, withContent } from '../message.ts'

export function newStep(messageId: string, agent: string, model: ModelRef, now: number): MessageOf<'assistant'> {
  return messageOf({ messageId, createTime: now }, 'assistant', { agent, model, attempt: 1 })
}

/**
 * A part as it begins, beside those that the step has. Undefined: a session's messages have no place yet for pictures
 * and files that a model makes.
 */
export function newPart(
  { kind, toolCall }: PartStarted,
  parts: readonly AssistantPart[],
  now: number,
): AssistantPart | undefined {
  switch (kind) {
    case Kind.TEXT:
    case Kind.REFUSAL:
      return create(AssistantPartSchema, { part: { case: 'text', value: {} } })
    case Kind.REASONING:
    case Kind.REASONING_SUMMARY:
      return create(AssistantPartSchema, { part: { case: 'reasoning', value: { createTime: now } } })
    case Kind.TOOL_CALL: {
      const { callId = '', name = '' } = toolCall ?? {}
      const call = { callId: freeCallId(callId, parts), name, state: State.STREAMING, input: {}, createTime: now }
      return create(AssistantPartSchema, { part: { case: 'tool', value: call } })
    }
    default:
      return undefined
  }
}

/** What a model has said in a part: a text, or the arguments of a call. */
export function saidIn({ part }: AssistantPart): string {
  return part.case === 'tool' ? part.value.rawInput : (part.value?.text ?? '')
}

/** The part with this in place of what a model has said. */
export function withSaid(whole: AssistantPart, text: string): AssistantPart {
  const { part } = whole
  switch (part.case) {
    case 'text':
      return withContent(whole, { case: 'text', value: { ...part.value, text } })
    case 'reasoning':
      return withContent(whole, { case: 'reasoning', value: { ...part.value, text } })
    case 'tool':
      return withContent(whole, { case: 'tool', value: { ...part.value, rawInput: text } })
    default:
      return whole
  }
}

/** Not every provider sees to it that the calls of one answer have ids, and different ones. */
function freeCallId(wanted: string, parts: readonly AssistantPart[]): string {
  const taken = new Set(callsOf(parts).map((call) => call.callId))
  let id = wanted
  for (let n = 1; id === '' || taken.has(id); n++) id = `${wanted || 'call'}_${n}`
  return id
}

/** How events name a part of a message. */
export function refOf(
  messageId: string,
  { part }: AssistantPart,
  ordinal: number,
): MessageInitShape<typeof PartRefSchema> {
  const kind = part.case === 'reasoning' ? PartRef_Kind.REASONING : PartRef_Kind.TEXT
  if (part.case !== 'tool') return { messageId, kind, ordinal }
  const { callId, name: toolName } = part.value
  return { messageId, kind: PartRef_Kind.TOOL_INPUT, ordinal, callId, toolName }
}
