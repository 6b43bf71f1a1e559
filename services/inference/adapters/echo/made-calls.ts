import type { Message, ToolCallPart, ToolResultPart } from '#services/inference/domain/conversation.ts'

/** A call that was made since the last user message, and its result so far. */
export interface MadeCall {
  readonly call: ToolCallPart
  readonly result: ToolResultPart | undefined
}

/** The calls in some messages, in order. */
export function madeCallsOf(messages: readonly Message[]): MadeCall[] {
  const parts = messages.flatMap((message) => message.parts)
  const results = new Map(parts.filter((part) => part.type === 'tool-result').map((part) => [part.callId, part]))
  return parts.filter((part) => part.type === 'tool-call').map((call) => ({ call, result: results.get(call.callId) }))
}
