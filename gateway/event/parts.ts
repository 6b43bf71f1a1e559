import { PartRef_Kind as Kind, type PartEnded, type PartRef } from '#gen/portico/session/v1/event_pb.js'
import type { EventContent } from './schemas.ts'

/** A part of a step began. */
export function fromPartStarted(ref: PartRef): EventContent {
  switch (ref.kind) {
    case Kind.TOOL_INPUT:
      return ['session.tool.input.started', { ...toolInput(ref), name: ref.toolName ?? '' }]
    case Kind.REASONING:
      return ['session.reasoning.started', part(ref)]
    default:
      return ['session.text.started', part(ref)]
  }
}

/** A part of a step grew. */
export function fromPartExtended(ref: PartRef, delta: string): EventContent {
  switch (ref.kind) {
    case Kind.TOOL_INPUT:
      return ['session.tool.input.delta', { ...toolInput(ref), delta }]
    case Kind.REASONING:
      return ['session.reasoning.delta', { ...part(ref), delta }]
    default:
      return ['session.text.delta', { ...part(ref), delta }]
  }
}

/** A part of a step is complete. */
export function fromPartEnded(ref: PartRef, { text, state }: PartEnded): EventContent {
  switch (ref.kind) {
    case Kind.TOOL_INPUT:
      return ['session.tool.input.ended', { ...toolInput(ref), text }]
    case Kind.REASONING:
      return ['session.reasoning.ended', { ...part(ref), text, state }]
    default:
      return ['session.text.ended', { ...part(ref), text }]
  }
}

function part({ messageId, ordinal }: PartRef) {
  return { assistantMessageID: messageId, ordinal }
}

function toolInput({ messageId, callId = '' }: PartRef) {
  return { assistantMessageID: messageId, id: callId }
}
