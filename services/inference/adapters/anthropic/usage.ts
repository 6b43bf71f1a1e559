import type { GenerationEvent } from '#services/inference/domain/generation.ts'
import type { Billed } from '#services/inference/domain/ledger/billed.ts'
import type { JsonObject } from '#shared/json.ts'
import { countAt, objectAt } from '../http/json.ts'
import { US_PERCENT } from './price-percent.ts'

/** What an answer has used so far. The API counts cache reads and writes separately from the input. */
export class UsageSoFar {
  #input = 0n
  #cacheRead = 0n
  #cacheWrite = 0n
  #output = 0n
  #thinking = 0n
  #billed: Billed = {}

  /** Numbers are totals, not increments; missing and null ones leave the previous value. */
  note(usage: JsonObject): Extract<GenerationEvent, { readonly type: 'usage' }> {
    this.#input = countAt(usage.input_tokens) ?? this.#input
    this.#cacheRead = countAt(usage.cache_read_input_tokens) ?? this.#cacheRead
    this.#cacheWrite = countAt(usage.cache_creation_input_tokens) ?? this.#cacheWrite
    this.#output = countAt(usage.output_tokens) ?? this.#output
    this.#thinking = countAt(objectAt(usage.output_tokens_details)?.thinking_tokens) ?? this.#thinking
    this.#billed = {
      ...this.#billed,
      ...given('longCacheWriteTokens', countAt(objectAt(usage.cache_creation)?.ephemeral_1h_input_tokens)),
      ...given('webSearches', countAt(objectAt(usage.server_tool_use)?.web_search_requests)),
      ...(usage.inference_geo === 'us' ? { pricePercent: US_PERCENT } : {}),
    }
    const used = {
      inputTokens: this.#input + this.#cacheRead + this.#cacheWrite,
      outputTokens: this.#output,
      cacheReadTokens: this.#cacheRead,
      cacheWriteTokens: this.#cacheWrite,
      reasoningTokens: this.#thinking,
    }
    const billed = Object.keys(this.#billed).length === 0 ? {} : { billed: this.#billed }
    return { type: 'usage', usage: used, ...billed }
  }
}

function given(name: 'longCacheWriteTokens' | 'webSearches', count: bigint | undefined): Billed {
  return count === undefined || count === 0n ? {} : { [name]: count }
}
