import type { PartRef } from '../event.ts'
import type { AssistantMessage, AssistantPart } from '../message.ts'
import type { ModelRef } from '../session.ts'
import type { GenerationEvent } from './generation.ts'

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

/** A part as it begins, beside those that the step has. */
export function newPart(
  { kind, callId, toolName }: Extract<GenerationEvent, { type: 'part-started' }>,
  parts: readonly AssistantPart[],
  now: number,
): AssistantPart {
  if (kind === 'reasoning') {
    return { type: 'reasoning', text: '', state: undefined, timeCreated: now, timeCompleted: undefined }
  }
  if (kind !== 'tool-call') return { type: 'text', text: '' }
  return {
    type: 'tool',
    callId: freeCallId(callId, parts),
    name: toolName,
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
