import { type AppliedPreset, FinishReason, type Generation } from '#gen/portico/inference/v1/inference_pb.js'
import { fromCosts } from '../generation/cost.ts'
import type { Served } from '../generation/router-metadata.ts'
import type { RouterMetadata } from '../records/router-metadata.ts'
import type { ResponseFailure } from './failure.ts'
import { fromPart } from './from-part.ts'
import type { OutputItem } from './output.ts'
import type { Echo, ResponseObject, Usage } from './response.ts'

/** What is known of a response from the start. */
export interface ResponseSeed {
  /** `resp_…` */
  readonly id: string
  /** Seconds since the epoch. */
  readonly createdAt: number
  /** As it was requested. */
  readonly model: string
  /** The members that repeat its request. */
  readonly echo: Echo
  /** The same, with the settings of a preset where the request has none; undefined: the request names no preset. */
  readonly echoWith?: ((preset: AppliedPreset) => Echo) | undefined
  /** Describes how the answer was made; undefined: the client does not want that. */
  readonly describe?: ((served: Served) => RouterMetadata) | undefined
}

/** The progress of a response, and how it ended. */
export type ResponseState = Pick<
  ResponseObject,
  'status' | 'completed_at' | 'error' | 'error_type' | 'incomplete_details' | 'usage' | 'openrouter_metadata'
> & { readonly service_tier?: string }

export type EndState = ResponseState & { readonly status: 'completed' | 'incomplete' | 'failed' }

export type Finished = Pick<
  Generation,
  'reason' | 'usage' | 'costNanos' | 'outputCostNanos' | 'costKnown' | 'serviceTier'
>

/** A whole generation as a response; `completedAt` in seconds since the epoch. */
export function fromGeneration(seed: ResponseSeed, generation: Generation, completedAt: number): ResponseObject {
  const { model, parts, sources, logProbabilities } = generation
  const ended = finishedState(generation, completedAt, seed.describe?.(generation))
  const output = parts.map((part, index) => {
    // Only the last one can have been cut off.
    const status = index === parts.length - 1 ? endOf(generation) : 'completed'
    return fromPart({ responseId: seed.id, index }, part, status, {
      sources: sources.filter(({ partIndex }) => partIndex === index),
      tokens: logProbabilities[index]?.tokens,
    })
  })
  return toResponse(withPreset(seed, generation.preset), model, output, ended)
}

/** A seed whose response contains the settings of its preset. */
export function withPreset(seed: ResponseSeed, preset: AppliedPreset | undefined): ResponseSeed {
  return preset === undefined || seed.echoWith === undefined ? seed : { ...seed, echo: seed.echoWith(preset) }
}

/** A response that failed before anything was generated. */
export function failedResponse(seed: ResponseSeed, failure: ResponseFailure): ResponseObject {
  return toResponse(seed, seed.model, [], failedState(failure))
}

export function failedState({ code, message, errorType, metadata }: ResponseFailure): EndState {
  const nothing = { completed_at: null, incomplete_details: null, usage: null }
  const error = { code, message }
  return { status: 'failed', ...nothing, error, error_type: errorType, openrouter_metadata: metadata }
}

/** The response object in some state. */
export function toResponse(
  { id, createdAt, echo }: ResponseSeed,
  model: string,
  output: OutputItem[],
  state: ResponseState,
): ResponseObject {
  const output_text = output.map(wordsOf).join('')
  return { id, object: 'response', created_at: createdAt, model, output, output_text, ...echo, ...state }
}

const INCOMPLETE: { readonly [reason in FinishReason]?: 'max_output_tokens' | 'content_filter' } = {
  [FinishReason.LENGTH]: 'max_output_tokens',
  [FinishReason.CONTENT_FILTER]: 'content_filter',
}

/** Whether a generation came to its end, or was cut off. */
export function endOf({ reason }: Pick<Finished, 'reason'>): 'completed' | 'incomplete' {
  return INCOMPLETE[reason] === undefined ? 'completed' : 'incomplete'
}

export function finishedState(finished: Finished, completedAt: number, metadata?: RouterMetadata): EndState {
  const reason = INCOMPLETE[finished.reason]
  const { serviceTier: tier } = finished
  return {
    status: endOf(finished),
    completed_at: completedAt,
    error: null,
    incomplete_details: reason === undefined ? null : { reason },
    usage: fromUsage(finished),
    ...(tier && tier !== 'auto' ? { service_tier: tier } : {}),
    openrouter_metadata: metadata,
  }
}

/** The words of an answer; a refusal is none. */
function wordsOf(item: OutputItem): string {
  if (item.type !== 'message') return ''
  return item.content.map((part) => (part.type === 'output_text' ? part.text : '')).join('')
}

/** What was used, and what it cost in dollars where that is known; null when the provider did not say. */
function fromUsage({ usage, costNanos, outputCostNanos, costKnown }: Finished): Usage | null {
  if (usage === undefined) return null
  const { inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens, reasoningTokens } = usage
  return {
    input_tokens: Number(inputTokens),
    input_tokens_details: { cached_tokens: Number(cacheReadTokens), cache_write_tokens: Number(cacheWriteTokens) },
    output_tokens: Number(outputTokens),
    output_tokens_details: { reasoning_tokens: Number(reasoningTokens) },
    total_tokens: Number(inputTokens + outputTokens),
    is_byok: false,
    ...(costKnown ? fromCosts(costNanos, outputCostNanos) : {}),
  }
}
