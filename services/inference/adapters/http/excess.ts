import type { GenerationEvent } from '#services/inference/domain/generation.ts'
import { BYTES_OF_TOKEN } from '#shared/text-tokens.ts'

/** An answer is too long at this multiple of its maximum, and this many tokens beyond it. */
const TIMES = 4
const TOKENS = 4_000

/** Counts the text of a stream, whose provider may ignore the maximum that it was sent. */
export class Excess {
  readonly #most: number
  readonly #thoughts = new Set<number>()
  #characters = 0

  /** `maxOutputTokens`: undefined: any length is right. */
  constructor(maxOutputTokens: number | undefined) {
    const most = maxOutputTokens === undefined ? Infinity : Math.max(TIMES * maxOutputTokens, maxOutputTokens + TOKENS)
    this.#most = most * BYTES_OF_TOKEN
  }

  /**
   * Counts what came, and returns whether all of it is far more than the maximum, by the usual estimate. Thoughts do
   * not count, since for some providers the maximum is that of the answer alone.
   */
  isUp(events: readonly GenerationEvent[]): boolean {
    if (this.#most === Infinity) return false
    for (const event of events) {
      if (event.type === 'part-started' && event.kind.startsWith('reasoning')) this.#thoughts.add(event.index)
      else if (event.type === 'part-extended' && !this.#thoughts.has(event.index)) this.#characters += event.text.length
    }
    return this.#characters > this.#most
  }
}
