import type { JsonObject } from '#shared/json.ts'
import type { RequestTimeouts, ToolDescription } from '../agent.ts'
import type { BlobRef, Finish } from '../message.ts'
import type { ModelRef, TokenUsage } from '../session.ts'

/** Text, or content whose bytes lie in the blob store. */
export type ModelContent =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'media'; readonly blob: BlobRef; readonly mime: string; readonly name: string | undefined }

/** A thought as a provider gave it; undefined members were not given. */
export interface Thought {
  readonly text: string | undefined
  readonly summary: string | undefined
  readonly signature: string | undefined
  readonly encrypted: string | undefined
  readonly id: string | undefined
}

/** One piece of what a model is shown. */
export type ModelPart =
  | ModelContent
  | { readonly type: 'reasoning'; readonly thought: Thought }
  | { readonly type: 'tool-call'; readonly callId: string; readonly name: string; readonly arguments: string }
  | {
      readonly type: 'tool-result'
      readonly callId: string
      readonly content: readonly ModelContent[]
      readonly failed: boolean
    }

/** One turn of the conversation as a model is shown it. */
export interface ModelMessage {
  readonly role: 'system' | 'user' | 'assistant' | 'tool'
  readonly parts: readonly ModelPart[]
}

/** A call of a model. */
export interface GenerationRequest {
  /** Unique: the ledger has one row for it. */
  readonly requestId: string
  readonly sessionId: string
  /** What it is for. */
  readonly origin: 'session' | 'title' | 'compaction'
  readonly model: ModelRef
  readonly messages: readonly ModelMessage[]
  readonly tools: readonly ToolDescription[]
  /** False: the tools are shown, but none may be called. */
  readonly callTools: boolean
  /** Whether the next request will begin as this one does. */
  readonly goesOn?: boolean
  readonly headers: Readonly<Record<string, string>>
  readonly body: JsonObject | undefined
  readonly timeouts: RequestTimeouts
}

/** What a part of an answer is; `other` is one that a session does not keep. */
export type GeneratedKind = 'text' | 'reasoning' | 'tool-call' | 'other'

/** One thing that happened in a generation. Parts may interleave; `finished` is the last. */
export type GenerationEvent =
  | {
      readonly type: 'part-started'
      readonly index: number
      readonly kind: GeneratedKind
      /** With `tool-call`. */
      readonly callId: string
      readonly toolName: string
    }
  | { readonly type: 'part-extended'; readonly index: number; readonly text: string }
  | {
      readonly type: 'part-ended'
      readonly index: number
      /** All of it; of a tool call, the arguments. */
      readonly text: string
      /** With `reasoning`. */
      readonly thought: Thought | undefined
    }
  | {
      readonly type: 'finished'
      readonly finish: Finish
      readonly rawFinish: string | undefined
      readonly tokens: TokenUsage
      readonly costNanos: bigint
    }
