/** How many pieces are kept until they are joined. */
const JOINED_AT_ONCE = 64

/**
 * A text that grows by small pieces. `+=` would do, but V8 keeps such a text as a chain with a link for each piece, and
 * the links of all streams survive one collection of garbage after the other. Once joined, the pieces are collected
 * while they are young.
 */
export class GrowingText {
  #joined = ''
  #pieces: string[] = []

  add(piece: string): void {
    if (piece !== '' && this.#pieces.push(piece) >= JOINED_AT_ONCE) this.#join()
  }

  get isEmpty(): boolean {
    return this.#joined === '' && this.#pieces.length === 0
  }

  toString(): string {
    if (this.#pieces.length > 0) this.#join()
    return this.#joined
  }

  #join(): void {
    this.#joined += this.#pieces.join('')
    this.#pieces = []
  }
}
