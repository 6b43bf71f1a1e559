import type { JsonObject } from '#shared/json.ts'
import type { ModelRef, Outcome, SessionLocation, TokenUsage } from './session.ts'

/** Where something stands in the text of a prompt. */
export interface Mention {
  readonly start: number
  readonly end: number
  readonly text: string
}

/** Content that lies in the blob store. */
export interface BlobRef {
  /** SHA-256 of the content, hexadecimal. */
  readonly hash: string
  /** Bytes. */
  readonly size: number
}

/** A file of a prompt. */
export interface FileAttachment {
  readonly blob: BlobRef
  readonly mime: string
  /** Where it was read from; undefined: it came with the prompt. */
  readonly uri: string | undefined
  readonly name: string | undefined
  readonly description: string | undefined
  readonly mention: Mention | undefined
}

/** An agent named in a prompt. */
export interface AgentAttachment {
  readonly name: string
  readonly mention: Mention | undefined
}

/** What a user said. */
export interface Prompt {
  readonly text: string
  readonly files: readonly FileAttachment[]
  readonly agents: readonly AgentAttachment[]
  readonly metadata: JsonObject | undefined
}

/** A text that a program adds to a conversation. */
export interface SyntheticText {
  readonly text: string
  /** For people. */
  readonly description: string | undefined
  readonly metadata: JsonObject | undefined
}

/** What went wrong. */
export interface StructuredError {
  /** `aborted`, `provider.unavailable`, `permission.rejected`, … */
  readonly type: string
  readonly message: string
  /** The provider's HTTP status. */
  readonly status?: number
}

/** One piece of what a tool returns. */
export type ToolContent =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'file'; readonly blob: BlobRef; readonly mime: string; readonly name: string | undefined }

export interface TextPart {
  readonly type: 'text'
  readonly text: string
}

export interface ReasoningPart {
  readonly type: 'reasoning'
  readonly text: string
  /** Provider data that goes back untouched with the next request. */
  readonly state: JsonObject | undefined
  readonly timeCreated: number
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
}

export type AssistantPart = TextPart | ReasoningPart | ToolPart

/** Why a provider ended its answer. */
export type Finish = 'stop' | 'length' | 'tool-calls' | 'content-filter' | 'error' | 'unknown'

interface MessageBase {
  readonly id: string
  readonly timeCreated: number
}

export interface UserMessage extends MessageBase {
  readonly type: 'user'
  readonly prompt: Prompt
}

/** What a model is shown as input, although no user said it. */
export interface SyntheticMessage extends MessageBase {
  readonly type: 'synthetic'
  readonly synthetic: SyntheticText
}

/** One step: what a provider answered, and the tool calls that came of it. */
export interface AssistantMessage extends MessageBase {
  readonly type: 'assistant'
  readonly agent: string
  readonly model: ModelRef
  readonly parts: readonly AssistantPart[]
  /** The attempt at the generation that the parts are of, from 1. */
  readonly attempt: number
  readonly finish: Finish | undefined
  readonly rawFinish: string | undefined
  readonly costNanos: bigint | undefined
  readonly tokens: TokenUsage | undefined
  readonly error: StructuredError | undefined
  readonly retry: { readonly attempt: number; readonly at: number; readonly error: StructuredError } | undefined
  readonly timeStreamed: number | undefined
  /** Undefined while the step runs. */
  readonly timeCompleted: number | undefined
}

export interface AgentSwitchedMessage extends MessageBase {
  readonly type: 'agent-switched'
  readonly agent: string
  readonly previous: string | undefined
}

export interface ModelSwitchedMessage extends MessageBase {
  readonly type: 'model-switched'
  readonly model: ModelRef
  readonly previous: ModelRef | undefined
}

export interface LocationSwitchedMessage extends MessageBase {
  readonly type: 'location-switched'
  readonly location: SessionLocation
  readonly previous: SessionLocation
}

/** Marks the end of a run. */
export interface IdleMessage extends MessageBase {
  readonly type: 'idle'
  readonly outcome: Outcome
  readonly error: StructuredError | undefined
}

/** One entry of a session's history. */
export type Message =
  | UserMessage
  | SyntheticMessage
  | AssistantMessage
  | AgentSwitchedMessage
  | ModelSwitchedMessage
  | LocationSwitchedMessage
  | IdleMessage

/** Whether a message is input for the model, by which a step is due. */
export function isInput(message: Message): message is UserMessage | SyntheticMessage {
  return message.type === 'user' || message.type === 'synthetic'
}

/** A message and its place in the conversation. */
export interface StoredMessage {
  readonly seq: number
  readonly message: Message
}
