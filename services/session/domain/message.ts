import type { BlobRef, ModelRef, ToolContent, ToolFile } from '#gen/portico/catalog/v1/catalog_pb.js'
import {
  type AssistantPart,
  type AssistantTool,
  ShellCommand_Status,
  type StepRetry,
  type StepSnapshot,
  type StructuredError,
} from '#gen/portico/session/v1/message_pb.js'
import type {
  FileAttachment,
  Outcome,
  Prompt,
  SessionLocation,
  SyntheticText,
  TokenUsage,
} from '#gen/portico/session/v1/session_pb.js'
import type { JsonObject } from '#shared/json.ts'
import {
  type CompactionMessage,
  type MessageBase,
  type ShellMessage,
  type SkillMessage,
  type SystemMessage,
  summarizes,
} from './message/imported.ts'

export type * from './message/imported.ts'

/** Why a provider ended its answer. */
export type Finish = 'stop' | 'length' | 'tool-calls' | 'content-filter' | 'error' | 'unknown'

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
  readonly retry: StepRetry | undefined
  readonly timeStreamed: number | undefined
  /** Undefined while the step runs. */
  readonly timeCompleted: number | undefined
  /** The state of the files before and after the step, and which differ. */
  readonly snapshot?: StepSnapshot
  /** Data of the provider. */
  readonly providerState?: JsonObject
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
  /** Undefined where an imported one does not have it. */
  readonly previous: SessionLocation | undefined
}

/** Marks the end of a run. */
export interface IdleMessage extends MessageBase {
  readonly type: 'idle'
  readonly outcome: Outcome
  readonly error: StructuredError | undefined
  /**
   * Of an interrupted run: whether the next one began at once, for a steer or a move, so that the session was never at
   * rest. Undefined as well for what earlier versions stored.
   */
  readonly goesOn?: boolean
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
  | SystemMessage
  | SkillMessage
  | ShellMessage
  | CompactionMessage

/** Whether a message is input for the model, by which a step is due. */
export function isInput(message: Message): message is UserMessage | SyntheticMessage {
  return message.type === 'user' || message.type === 'synthetic'
}

/** Whether a message will not change any more. */
export function isSettled(message: Message): boolean {
  if (message.type === 'assistant') return message.timeCompleted !== undefined
  if (message.type === 'shell') return message.shell.status !== ShellCommand_Status.RUNNING
  return message.type !== 'compaction' || message.status !== 'running'
}

/** Whether a message stands for all that comes before it, so that a model is shown nothing of that. */
export function isSummary(message: Message): message is CompactionMessage {
  return message.type === 'compaction' && summarizes(message)
}

/** The tool calls of a step. */
export function callsOf(parts: readonly AssistantPart[]): AssistantTool[] {
  return parts.flatMap(({ part }) => (part.case === 'tool' ? [part.value] : []))
}

/** A part with another content. */
export function withContent(part: AssistantPart, content: AssistantPart['part']): AssistantPart {
  return { ...part, part: content }
}

/** The blobs that a message refers to. */
export function blobsOf(message: Message): readonly BlobRef[] {
  if (message.type === 'user') return message.prompt.files.flatMap(blobIn)
  if (message.type !== 'assistant') return []
  return callsOf(message.parts).flatMap(({ content }) => blobsIn(content))
}

/** The blobs that the result of a tool refers to. */
export function blobsIn(contents: readonly ToolContent[]): BlobRef[] {
  return contents.flatMap(({ content }) => (content.case === 'file' ? blobIn(content.value) : []))
}

/** The blob that a file refers to, if it does. */
export function blobIn({ source }: FileAttachment | ToolFile): BlobRef[] {
  return source.case === 'blob' ? [source.value] : []
}

/** A message and its place in the conversation. */
export interface StoredMessage {
  readonly seq: number
  readonly message: Message
}
