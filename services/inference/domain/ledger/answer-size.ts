import { PartStarted_Kind as Kind } from '#gen/portico/inference/v1/inference_service_pb.js'
import { BYTES_OF_TOKEN, tokensOfBytes } from '#shared/text-tokens.ts'
import type { ProviderEvent } from '../generation.ts'
import { hiddenBytesOf } from './estimate.ts'

/** A text is too long at this multiple of its maximum, and this many tokens beyond it. */
const TIMES = 4
const TOKENS = 4_000

/**
 * Measures an answer as its events pass. Its maximum is that of its text: for some providers, thoughts do not count
 * towards it.
 */
export class AnswerSize {
  readonly #maxBytes: number
  /** With more characters the text is too long. */
  readonly #mostCharacters: number
  /** Indexes of the parts that are thoughts. */
  readonly #thoughts = new Set<number>()
  #textBytes = 0
  #thoughtBytes = 0
  #encryptedBytes = 0
  #withheldBytes = 0
  #textCharacters = 0

  /** `maxOutputTokens`: undefined: any length is right. */
  constructor(maxOutputTokens = Infinity) {
    this.#maxBytes = maxOutputTokens * BYTES_OF_TOKEN
    this.#mostCharacters = Math.max(TIMES * maxOutputTokens, maxOutputTokens + TOKENS) * BYTES_OF_TOKEN
  }

  add(event: ProviderEvent['event']): void {
    switch (event.case) {
      case 'partExtended': {
        const { index, text } = event.value
        if (this.#thoughts.has(index)) this.#thoughtBytes += Buffer.byteLength(text)
        else {
          this.#textBytes += Buffer.byteLength(text)
          this.#textCharacters += text.length
        }
        break
      }
      case 'partStarted': {
        const { index, kind } = event.value
        if (kind === Kind.REASONING || kind === Kind.REASONING_SUMMARY) this.#thoughts.add(index)
        break
      }
      case 'partEnded':
        this.#encryptedBytes += hiddenBytesOf(event.value.part)
        break
      case 'withheld':
        this.#withheldBytes += event.value
    }
  }

  /** Bytes that the caller can read. */
  get shownBytes(): number {
    return this.#textBytes + this.#thoughtBytes
  }

  /** Whether the text is longer than its maximum: only long repetitions have that many characters in so few tokens. */
  get isTooLong(): boolean {
    return this.#textCharacters > this.#mostCharacters
  }

  /**
   * The estimate of the tokens: of all thoughts, of the text at most its maximum unless it is too long, and of
   * what is withheld only what fits into the maximum.
   */
  get tokens(): number {
    const fitting = Math.min(this.#textBytes + this.#withheldBytes, this.#maxBytes)
    const text = this.isTooLong ? Math.max(this.#textBytes, fitting) : fitting
    return tokensOfBytes(text + this.#thoughtBytes + this.#encryptedBytes)
  }
}
