import type { GenerationEvent } from '#services/inference/domain/generation.ts'
import { BYTES_OF_TOKEN } from '#shared/text-tokens.ts'

/** An answer is too long at this multiple of its maximum, and this many tokens beyond it. */
const TIMES = 4
const TOKENS = 4_000

/** Counts the text of a stream, whose provider may ignore the maximum that it was sent. */
export class Excess {
  readonly #most: number
  #characters = 0

  /** `maxOutputTokens`: undefined: any length is right. */
  constructor(maxOutputTokens: number | undefined) {
    const most = maxOutputTokens === undefined ? Infinity : Math.max(TIMES * maxOutputTokens, maxOutputTokens + TOKENS)
    this.#most = most * BYTES_OF_TOKEN
  }

  /** Counts what came, and returns whether all of it is far more than the maximum, by the usual estimate. */
  isUp(events: readonly GenerationEvent[]): boolean {
    if (this.#most === Infinity) return false
    for (const event of events) if (event.type === 'part-extended') this.#characters += event.text.length
    return this.#characters > this.#most
  }
}
