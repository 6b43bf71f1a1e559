import type { Usage } from '#services/inference/domain/generation.ts'
import type { JsonObject } from '#shared/json.ts'
import { countAt, objectAt } from '../http/json.ts'

/** What an answer has used so far. The API counts what comes of its cache, or goes into it, beside the input. */
export class UsageSoFar {
  #input = 0n
  #cacheRead = 0n
  #cacheWrite = 0n
  #output = 0n
  #thinking = 0n

  /** Numbers are totals so far, not additions; a missing or null one leaves what was known. */
  note(usage: JsonObject): Usage {
    this.#input = countAt(usage.input_tokens) ?? this.#input
    this.#cacheRead = countAt(usage.cache_read_input_tokens) ?? this.#cacheRead
    this.#cacheWrite = countAt(usage.cache_creation_input_tokens) ?? this.#cacheWrite
    this.#output = countAt(usage.output_tokens) ?? this.#output
    this.#thinking = countAt(objectAt(usage.output_tokens_details)?.thinking_tokens) ?? this.#thinking
    return {
      inputTokens: this.#input + this.#cacheRead + this.#cacheWrite,
      outputTokens: this.#output,
      cacheReadTokens: this.#cacheRead,
      cacheWriteTokens: this.#cacheWrite,
      reasoningTokens: this.#thinking,
    }
  }
}
