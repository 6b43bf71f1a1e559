import type { JsonObject } from '#shared/json.ts'
import type { CacheControl, Citation, Message, Part } from './conversation.ts'
import type { Billed, ReportedCost } from './ledger/billed.ts'
import type { ProviderTimeouts } from './provider-timeouts.ts'
import type { Routing } from './routing.ts'
import type { Sampling } from './sampling.ts'
import type { Called, HostedTool, Tool, ToolChoice } from './tools.ts'

/** Members of a request that only one kind of provider understands; others do not get them. */
export interface ProviderExtension {
  readonly format: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: JsonObject | undefined
}

/** The application that a request comes from, according to the request. */
export interface Attribution {
  readonly referer: string | undefined
  readonly title: string | undefined
  readonly categories: string | undefined
  readonly userAgent: string | undefined
}

/** Required form of the answer. */
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

/** How the model should think; undefined: the provider's default. */
export interface Reasoning {
  readonly effort?: string | undefined
  readonly summary?: string | undefined
  readonly maxTokens?: number | undefined
}

/** The internal request for a generation, to which every public dialect is converted. */
export interface GenerationRequest {
  readonly requestId: string
  /** The provider's name for the model. */
  readonly modelId: string
  readonly messages: readonly Message[]
  readonly tools: readonly Tool[]
  readonly toolChoice: ToolChoice | undefined
  readonly parallelToolCalls: boolean | undefined
  readonly maxOutputTokens: number | undefined
  /** Most calls of tools that the provider runs; undefined: the provider's default. */
  readonly maxToolCalls?: number | undefined
  readonly sampling: Sampling | undefined
  readonly reasoning: Reasoning | undefined
  readonly responseFormat: ResponseFormat | undefined
  readonly user: string | undefined
  readonly sessionId: string | undefined
  /** What the provider learns about the session; undefined: nothing. */
  readonly providerSession?: string | undefined
  /** The interface that the request came by, or its purpose. */
  readonly origin: string
  readonly providerHeaders: Readonly<Record<string, string>>
  readonly providerBody: JsonObject | undefined
  /** Undefined: the server's limits. */
  readonly providerTimeouts?: ProviderTimeouts | undefined
  /** How verbose the answer should be; undefined: the provider's default. */
  readonly verbosity: string | undefined
  readonly hostedTools: readonly HostedTool[]
  /** At most one of each format. */
  readonly extensions: readonly ProviderExtension[]
  /** Undefined: no demands. */
  readonly routing?: Routing | undefined
  /** Slug of a preset; undefined: none, or only in the model. */
  readonly preset?: string | undefined
  /** Text that the answer will probably repeat. */
  readonly prediction?: string | undefined
  readonly serviceTier?: string | undefined
  /** `fast` or `standard`. */
  readonly speed?: string | undefined
  /** For the request's span. */
  readonly trace?: JsonObject | undefined
  /** Set by the caller, for the ledger. */
  readonly metadata: Readonly<Record<string, string>>
  /** Members of the public request that are not supported yet. */
  readonly notApplied: readonly string[]
  readonly attribution?: Attribution | undefined
  /** Places cache markers; undefined: the provider's setting decides. */
  readonly automaticCache?: CacheControl | undefined
  /** Whether thoughts are removed from the answer; undefined: they are not. */
  readonly excludeThoughts?: boolean | undefined
  /** Whether a stream whose conversation does not fit into the model ends for its length instead of failing. */
  readonly endsAtOverflow?: boolean | undefined
}

/** What a generation used, as the provider reported it; a reported zero is a zero. */
export interface Usage {
  /** All input tokens, including cached ones. */
  readonly inputTokens: bigint
  /** All output tokens, including reasoning. */
  readonly outputTokens: bigint
  readonly cacheReadTokens: bigint
  readonly cacheWriteTokens: bigint
  readonly reasoningTokens: bigint
  /** Whether they are Portico's estimate, because the provider reported none. */
  readonly estimated?: boolean | undefined
}

/** Why a generation ended. */
export type FinishReason = 'stop' | 'length' | 'tool-calls' | 'content-filter' | 'other'

/** The kind of a part. Pictures, files and the provider's own items come whole, with the end of their part. */
export type PartKind =
  | 'text'
  | 'reasoning'
  | 'reasoning-summary'
  | 'tool-call'
  | 'refusal'
  | 'image'
  | 'file'
  | 'foreign'

/** The probability of a token. */
export interface LogProbability {
  readonly token: string
  /** Natural logarithm. */
  readonly logProbability: number
  /** The token's UTF-8 bytes; undefined: unknown. */
  readonly bytes?: Uint8Array | undefined
  /** The most probable tokens at that position, which have no alternatives of their own. */
  readonly alternatives: readonly LogProbability[]
}

/** Something in a request that did not reach the model as it was meant. */
export interface Warning {
  /** Member of the request, as the proto names it. */
  readonly field: string
  readonly message: string
}

/** A document that the model named as a source. */
export interface Source extends Citation {
  /** The part whose text cites it. */
  readonly partIndex: number
}

/** Details of the end. Members that were not given are undefined. */
export interface FinishDetails {
  /** The provider's own word for the reason. */
  readonly rawReason: string | undefined
  /** The stop text that ended the answer. */
  readonly stopText?: string | undefined
  /** The tier that served it, in the provider's word. */
  readonly serviceTier?: string | undefined
  /** Everything else, in the provider's words, by format ({@link ReasoningPart.format}). */
  readonly providerMetadata?: JsonObject | undefined
}

/**
 * One event of a generation. Order: started; then for each part its start, its deltas and its end (parts may
 * interleave; sources come between); then finished. `usage` may come at any time, and repeatedly; the last one counts;
 * `withheld` too, and all of them count.
 */
export type GenerationEvent =
  | { readonly type: 'started'; readonly warnings: readonly Warning[] }
  | ({
      readonly type: 'part-started'
      readonly index: number
      readonly kind: PartKind
      /** The model's phase for a text; only with `text` and `refusal`. */
      readonly phase?: string | undefined
      /** What else the provider says about the part, as far as it is known; undefined: nothing. */
      readonly providerMetadata?: JsonObject | undefined
      // Only with `tool-call`.
    } & Partial<Called>)
  | {
      readonly type: 'part-extended'
      readonly index: number
      readonly text: string
      /** For the tokens of that text; undefined: not requested. */
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
  /** Output that the provider has generated and nobody gets: its size, since it is charged for. */
  | { readonly type: 'withheld'; readonly bytes: number }
  | ({ readonly type: 'finished'; readonly reason: FinishReason } & FinishDetails)
