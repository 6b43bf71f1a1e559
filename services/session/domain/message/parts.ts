import type { ToolContent } from '#gen/portico/catalog/v1/catalog_pb.js'
import type { StructuredError } from '#gen/portico/session/v1/message_pb.js'
import type { JsonObject } from '#shared/json.ts'

export interface TextPart {
  readonly type: 'text'
  readonly text: string
  /** Data of the provider. */
  readonly state?: JsonObject
}

export interface ReasoningPart {
  readonly type: 'reasoning'
  readonly text: string
  /** Provider data that goes back untouched with the next request. */
  readonly state: JsonObject | undefined
  /** Undefined where an imported one has no times. */
  readonly timeCreated: number | undefined
  readonly timeCompleted: number | undefined
}

export type ToolState = 'streaming' | 'running' | 'completed' | 'error'

export interface ToolPart {
  readonly type: 'tool'
  readonly callId: string
  readonly name: string
  readonly state: ToolState
  /** The arguments as JSON text, exactly as the model wrote them. */
  readonly rawInput: string
  /** The arguments; empty until they are complete, and when they are not a JSON object. */
  readonly input: JsonObject
  readonly content: readonly ToolContent[]
  readonly metadata: JsonObject | undefined
  readonly error: StructuredError | undefined
  readonly timeCreated: number
  readonly timeRan: number | undefined
  readonly timeCompleted: number | undefined
  /** Whether the provider ran it. */
  readonly executed?: boolean
  /** Data of the provider about the call, and about its result. */
  readonly providerState?: JsonObject
  readonly providerResultState?: JsonObject
}

export type AssistantPart = TextPart | ReasoningPart | ToolPart
