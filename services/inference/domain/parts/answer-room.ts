import type { LogProbability } from '#gen/portico/inference/v1/inference_pb.js'

/**
 * Maximum number of characters (UTF-16 code units) in an answer. A message contains each at most twice, in JSON that
 * escapes it with up to six bytes; so no document exceeds MongoDB's 16 MB, and no write takes long.
 */
const MAX_CHARACTERS = 1_000_000
/**
 * Maximum number of log probabilities in an answer, including alternatives: each takes about a hundred bytes. Later
 * tokens have none.
 */
const MAX_LOG_PROBABILITIES = 500_000

/** The room that an answer has left. */
export class AnswerRoom {
  #characters = MAX_CHARACTERS
  #tokens = MAX_LOG_PROBABILITIES
  /** Whether more was claimed than there was, or nothing more is to come. */
  full = false

  /** How many of the characters there is room for. */
  claim(characters: number): number {
    const room = Math.min(characters, this.#characters)
    this.#characters -= room
    if (room < characters) this.full = true
    return room
  }

  /** Whether there is room for a text that cannot be cut. */
  fits(text: string): boolean {
    return this.claim(text.length) === text.length
  }

  /** As many of the tokens as there is room for. */
  admit(tokens: readonly LogProbability[]): readonly LogProbability[] {
    let admitted = 0
    for (const { alternatives } of tokens) {
      this.#tokens -= 1 + alternatives.length
      if (this.#tokens < 0) break
      admitted++
    }
    return admitted === tokens.length ? tokens : tokens.slice(0, admitted)
  }
}
