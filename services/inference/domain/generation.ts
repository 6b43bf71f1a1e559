import type { JsonObject } from '#shared/json.ts'
import type { CacheControl, Citation, Message, Part } from './conversation.ts'
import type { Billed, ReportedCost } from './ledger/billed.ts'
import type { ProviderTimeouts } from './provider-timeouts.ts'
import type { Routing } from './routing.ts'
import type { Sampling } from './sampling.ts'
import type { HostedTool, Tool, ToolChoice } from './tools.ts'

/** Members of a request that mean something to one kind of provider only; others do not get them. */
export interface ProviderExtension {
  readonly format: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: JsonObject | undefined
}

/** Which application a request comes from, as it says itself. */
export interface Attribution {
  readonly referer: string | undefined
  readonly title: string | undefined
  readonly categories: string | undefined
  readonly userAgent: string | undefined
}

/** Form of the answer. */
export type ResponseFormat =
  | { readonly type: 'json-object' }
  | { readonly type: 'python' }
  | { readonly type: 'grammar'; readonly grammar: string }
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

/** What a provider is to generate: the internal request that every public dialect becomes. */
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
  /** What the provider learns of the session; undefined: nothing. */
  readonly providerSession?: string | undefined
  /** Which interface the request came by, or what it is for. */
  readonly origin: string
  readonly providerHeaders: Readonly<Record<string, string>>
  readonly providerBody: JsonObject | undefined
  /** Undefined: as long as the server lets it. */
  readonly providerTimeouts?: ProviderTimeouts | undefined
  /** How wordy the answer is; undefined: the provider's default. */
  readonly verbosity: string | undefined
  readonly hostedTools: readonly HostedTool[]
  /** At most one of each format. */
  readonly extensions: readonly ProviderExtension[]
  /** Undefined: no demands. */
  readonly routing?: Routing | undefined
  /** Slug of a preset; undefined: none is named apart from the model. */
  readonly preset?: string | undefined
  /** Text that the answer will probably repeat. */
  readonly prediction?: string | undefined
  readonly serviceTier?: string | undefined
  /** `fast` or `standard`. */
  readonly speed?: string | undefined
  /** For the request's span. */
  readonly trace?: JsonObject | undefined
  /** Of the caller, for the ledger. */
  readonly metadata: Readonly<Record<string, string>>
  /** Members of the public request that mean nothing here yet. */
  readonly notApplied: readonly string[]
  readonly attribution?: Attribution | undefined
  /** Asks that caching markers be placed; undefined: they are where the setting says so. */
  readonly automaticCache?: CacheControl | undefined
  /** Whether the answer is shown without what the model thought; undefined: with it. */
  readonly excludeThoughts?: boolean | undefined
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
  /** Whether they are Portico's estimate, because the provider reported none. */
  readonly estimated?: boolean | undefined
}

/** Why a generation ended. */
export type FinishReason = 'stop' | 'length' | 'tool-calls' | 'content-filter' | 'other'

/** What a part is. Pictures, files and items of the provider's own come whole, with the end of their part. */
export type PartKind =
  | 'text'
  | 'reasoning'
  | 'reasoning-summary'
  | 'tool-call'
  | 'refusal'
  | 'image'
  | 'file'
  | 'foreign'

/** How probable a token was. */
export interface LogProbability {
  readonly token: string
  /** Natural logarithm. */
  readonly logProbability: number
  /** The token's UTF-8 bytes; undefined: unknown. */
  readonly bytes?: Uint8Array | undefined
  /** The most probable tokens at that position, without alternatives of their own. */
  readonly alternatives: readonly LogProbability[]
}

/** Something of a request that does not reach the model as it was meant. */
export interface Warning {
  /** Member of the request, as the proto names it. */
  readonly field: string
  readonly message: string
}

/** A document that the model named as a source. */
export interface Source extends Citation {
  /** Part whose text names it. */
  readonly partIndex: number
}

/** What else a provider says of the end. Undefined members were not given. */
export interface FinishDetails {
  /** Its own word for the reason. */
  readonly rawReason: string | undefined
  /** The stop text that was met. */
  readonly stopText?: string | undefined
  /** Tier that served it, in its own word. */
  readonly serviceTier?: string | undefined
  /** What no other member holds, in its own words, by the kind of provider ({@link ReasoningPart.format}). */
  readonly providerMetadata?: JsonObject | undefined
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
      /** Whether the tool is a custom one; with `tool-call` only. */
      readonly custom?: boolean | undefined
      /** Of the tool; with `tool-call` only. */
      readonly namespace?: string | undefined
      /** What the model says a text for; with `text` and `refusal` only. */
      readonly phase?: string | undefined
      /** What the provider says of the part besides, as far as it is known; undefined: nothing. */
      readonly providerMetadata?: JsonObject | undefined
    }
  | {
      readonly type: 'part-extended'
      readonly index: number
      readonly text: string
      /** Of the tokens of that text; undefined: they were not requested. */
      readonly logProbabilities?: readonly LogProbability[] | undefined
    }
  | { readonly type: 'part-ended'; readonly index: number; readonly part: Part }
  | { readonly type: 'source'; readonly source: Source }
  | {
      readonly type: 'usage'
      readonly usage: Usage
      readonly cost?: ReportedCost | undefined
      readonly billed?: Billed | undefined
    }
  | ({ readonly type: 'finished'; readonly reason: FinishReason } & FinishDetails)
