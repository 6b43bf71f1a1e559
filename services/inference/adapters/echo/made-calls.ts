import type { Message, ToolCallPart, ToolResultPart } from '#gen/portico/inference/v1/inference_pb.js'

/** A call that was made since the last user message, and its result so far. */
export interface MadeCall {
  readonly call: ToolCallPart
  readonly result: ToolResultPart | undefined
}

/** The calls in some messages, in order. */
export function madeCallsOf(messages: readonly Message[]): MadeCall[] {
  const parts = messages.flatMap((message) => message.parts.map(({ part }) => part))
  const results = new Map(
    parts.flatMap((part) => (part.case === 'toolResult' ? [[part.value.callId, part.value]] : [])),
  )
  return parts.flatMap((part) =>
    part.case === 'toolCall' ? [{ call: part.value, result: results.get(part.value.callId) }] : [],
  )
}
