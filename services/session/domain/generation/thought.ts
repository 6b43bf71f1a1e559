import { create } from '@bufbuild/protobuf'
import { ReasoningPartSchema, type ReasoningPart as Thought } from '#gen/portico/inference/v1/inference_pb.js'
import type { AssistantReasoning } from '#gen/portico/session/v1/message_pb.js'
import type { JsonObject, JsonValue } from '#shared/json.ts'

/** The text of a thought that people see: the thought itself, else its summary. */
export function shownThought({ text, summary }: Thought): string {
  return text || summary || ''
}

/**
 * The data of a thought that has to be kept besides its shown text, so that it can be sent back unchanged; undefined:
 * none.
 */
export function thoughtState(thought: Thought): JsonObject | undefined {
  const { text, summary, signature, encrypted, id } = thought
  const state: JsonObject = {}
  if (summary) state.summary = text ? summary : true
  if (signature) state.signature = signature
  if (encrypted) state.encrypted = encrypted
  if (id) state.id = id
  return Object.keys(state).length === 0 ? undefined : state
}

export function thoughtOf({ text, state }: AssistantReasoning): Thought {
  const onlySummary = state?.summary === true
  return create(ReasoningPartSchema, {
    text: onlySummary ? undefined : text || undefined,
    summary: onlySummary ? text : textAt(state?.summary),
    signature: textAt(state?.signature),
    encrypted: textAt(state?.encrypted),
    id: textAt(state?.id),
  })
}

function textAt(value: JsonValue | undefined): string | undefined {
  return typeof value === 'string' ? value : undefined
}
