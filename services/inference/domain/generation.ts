import type { JsonObject } from '#shared/json.ts'
import type { Message, Part } from './conversation.ts'

/** A function that the model may call. */
export interface Tool {
  readonly name: string
  readonly description?: string | undefined
  /** JSON Schema of the arguments; undefined: none. */
  readonly parameters: JsonObject | undefined
  readonly strict: boolean | undefined
}

/** Whether and which tools the model calls. */
export type ToolChoice =
  | { readonly mode: 'auto' | 'none' | 'required' }
  | { readonly mode: 'named'; readonly name: string }

/** Form of the answer. */
export type ResponseFormat =
  | { readonly type: 'json-object' }
  | {
      readonly type: 'json-schema'
      readonly name: string
      readonly schema: JsonObject
      readonly strict: boolean | undefined
      readonly description?: string | undefined
    }

/** How the model thinks; undefined: the provider's default. */
export interface Reasoning {
  readonly effort?: string | undefined
  readonly summary?: string | undefined
  readonly maxTokens?: number | undefined
}

/** How the answer is drawn; undefined: the provider's default. */
export interface Sampling {
  readonly temperature: number | undefined
  readonly topP: number | undefined
  readonly topK: number | undefined
  readonly frequencyPenalty: number | undefined
  readonly presencePenalty: number | undefined
  readonly seed: bigint | undefined
  readonly stop: readonly string[]
}

/** What a provider is asked for: the internal request that every public dialect becomes. */
export interface GenerationRequest {
  readonly requestId: string
  /** Model as the provider names it. */
  readonly modelId: string
  readonly messages: readonly Message[]
  readonly tools: readonly Tool[]
  readonly toolChoice: ToolChoice | undefined
  readonly parallelToolCalls: boolean | undefined
  readonly maxOutputTokens: number | undefined
  readonly sampling: Sampling | undefined
  readonly reasoning: Reasoning | undefined
  readonly responseFormat: ResponseFormat | undefined
  readonly user: string | undefined
  readonly sessionId: string | undefined
  /** Which interface the request came by, or what it is for. */
  readonly origin: string
  readonly providerHeaders: Readonly<Record<string, string>>
  readonly providerBody: JsonObject | undefined
  /** How wordy the answer is; undefined: the provider's default. */
  readonly verbosity: string | undefined
}

/** What a generation used, as the provider reported it; a reported zero is a zero. */
export interface Usage {
  /** All input tokens, cached ones included. */
  readonly inputTokens: bigint
  /** All output tokens, reasoning included. */
  readonly outputTokens: bigint
  readonly cacheReadTokens: bigint
  readonly cacheWriteTokens: bigint
  readonly reasoningTokens: bigint
}

/** Why a generation ended. */
export type FinishReason = 'stop' | 'length' | 'tool-calls' | 'content-filter' | 'other'

/** What a part is. Pictures and files come whole, with the end of their part. */
export type PartKind = 'text' | 'reasoning' | 'reasoning-summary' | 'tool-call' | 'refusal' | 'image' | 'file'

/** Something of a request that does not reach the model as it was meant. */
export interface Warning {
  /** Member of the request, as the proto names it. */
  readonly field: string
  readonly message: string
}

/** A document that the model named as a source. Undefined members were not given. */
export interface Source {
  /** Part whose text names it. */
  readonly partIndex: number
  readonly url: string | undefined
  readonly title: string | undefined
  /** Bounds of the passage of the part's text that rests on it, in UTF-16 code units, the end exclusive. */
  readonly start: number | undefined
  readonly end: number | undefined
  /** The passage of the source that is cited. */
  readonly citedText: string | undefined
}

/**
 * One thing that happened. Order: started, then for each part its start, its additions and its end (parts may
 * interleave; sources come between), then finished. `usage` may come at any time, several times; the last one counts.
 */
export type GenerationEvent =
  | { readonly type: 'started'; readonly warnings: readonly Warning[] }
  | {
      readonly type: 'part-started'
      readonly index: number
      readonly kind: PartKind
      /** With `tool-call` only. */
      readonly callId?: string | undefined
      /** With `tool-call` only. */
      readonly toolName?: string | undefined
    }
  | { readonly type: 'part-extended'; readonly index: number; readonly text: string }
  | { readonly type: 'part-ended'; readonly index: number; readonly part: Part }
  | { readonly type: 'source'; readonly source: Source }
  | { readonly type: 'usage'; readonly usage: Usage }
  /** `rawReason`: the provider's own word; undefined: it gave none. */
  | { readonly type: 'finished'; readonly reason: FinishReason; readonly rawReason: string | undefined }
