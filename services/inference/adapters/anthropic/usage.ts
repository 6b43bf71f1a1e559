import { create } from '@bufbuild/protobuf'
import { UsageSchema } from '#gen/portico/inference/v1/inference_pb.js'
import type { Billed } from '#services/inference/domain/cost.ts'
import type { ProviderRequest, ReportedUsage } from '#services/inference/domain/generation.ts'
import type { JsonObject } from '#shared/json.ts'
import { countAt, objectAt } from '../http/json.ts'
import { extensionOf } from './extension.ts'

/** What an answer has used so far. The API counts cache reads and writes separately from the input. */
export class UsageSoFar {
  #input = 0n
  #cacheRead = 0n
  #cacheWrite = 0n
  #output = 0n
  #thinking = 0n
  #billed: Billed = {}

  /** Numbers are totals, not increments; missing and null ones leave the previous value. */
  note(usage: JsonObject): ReportedUsage {
    this.#input = countAt(usage.input_tokens) ?? this.#input
    this.#cacheRead = countAt(usage.cache_read_input_tokens) ?? this.#cacheRead
    this.#cacheWrite = countAt(usage.cache_creation_input_tokens) ?? this.#cacheWrite
    this.#output = countAt(usage.output_tokens) ?? this.#output
    this.#thinking = countAt(objectAt(usage.output_tokens_details)?.thinking_tokens) ?? this.#thinking
    this.#billed = {
      longCacheWriteTokens:
        countAt(objectAt(usage.cache_creation)?.ephemeral_1h_input_tokens) || this.#billed.longCacheWriteTokens,
      webSearches: countAt(objectAt(usage.server_tool_use)?.web_search_requests) || this.#billed.webSearches,
      pricePercent: usage.inference_geo === 'us' ? US_PERCENT : this.#billed.pricePercent,
    }
    const used = create(UsageSchema, {
      inputTokens: this.#input + this.#cacheRead + this.#cacheWrite,
      outputTokens: this.#output,
      cacheReadTokens: this.#cacheRead,
      cacheWriteTokens: this.#cacheWrite,
      reasoningTokens: this.#thinking,
    })
    return { usage: used, billed: this.#billed }
  }
}

/**
 * As of November 2026, Anthropic lists six times the price for its fast mode, and 10% more for requests that only data
 * centres in the US may serve.
 */
const FAST_PERCENT = 600
export const US_PERCENT = 110

/** Maximum price of tokens, in percent of the plain price; undefined: the plain price. */
export function pricePercentOf(request: ProviderRequest): number | undefined {
  const geo = extensionOf(request)?.body?.inference_geo ?? request.providerBody?.inference_geo
  const isUs = geo === 'us'
  if (request.speed !== 'fast') return isUs ? US_PERCENT : undefined
  return isUs ? (FAST_PERCENT * US_PERCENT) / 100 : FAST_PERCENT
}
