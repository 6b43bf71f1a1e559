import type { ModelRef } from '#gen/portico/catalog/v1/catalog_pb.js'
import { PartStarted_Kind as Kind, type PartStarted } from '#gen/portico/inference/v1/inference_service_pb.js'
import type { PartRef } from '../event.ts'
import type { AssistantMessage, AssistantPart } from '../message.ts'

/** A step as it begins. */
export function newStep(id: string, agent: string, model: ModelRef, now: number): AssistantMessage {
  return {
    type: 'assistant',
    id,
    timeCreated: now,
    agent,
    model,
    parts: [],
    attempt: 1,
    finish: undefined,
    rawFinish: undefined,
    costNanos: undefined,
    tokens: undefined,
    error: undefined,
    retry: undefined,
    timeStreamed: undefined,
    timeCompleted: undefined,
  }
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
      return { type: 'text', text: '' }
    case Kind.REASONING:
    case Kind.REASONING_SUMMARY:
      return { type: 'reasoning', text: '', state: undefined, timeCreated: now, timeCompleted: undefined }
    case Kind.TOOL_CALL:
      return newCall(freeCallId(toolCall?.callId ?? '', parts), toolCall?.name ?? '', now)
    default:
      return undefined
  }
}

function newCall(callId: string, name: string, now: number): AssistantPart {
  return {
    type: 'tool',
    callId,
    name,
    state: 'streaming',
    rawInput: '',
    input: {},
    content: [],
    metadata: undefined,
    error: undefined,
    timeCreated: now,
    timeRan: undefined,
    timeCompleted: undefined,
  }
}

/** Not every provider sees to it that the calls of one answer have ids, and different ones. */
function freeCallId(wanted: string, parts: readonly AssistantPart[]): string {
  const taken = new Set(parts.map((part) => (part.type === 'tool' ? part.callId : '')))
  let id = wanted
  for (let n = 1; id === '' || taken.has(id); n++) id = `${wanted || 'call'}_${n}`
  return id
}

/** How events name a part of a message. */
export function refOf(messageId: string, part: AssistantPart, ordinal: number): PartRef {
  if (part.type !== 'tool') return { messageId, kind: part.type, ordinal }
  return { messageId, kind: 'tool-input', ordinal, callId: part.callId, toolName: part.name }
}
