import type { LogProbability } from '#gen/portico/inference/v1/inference_pb.js'
import { PartStarted_Kind as Kind } from '#gen/portico/inference/v1/inference_service_pb.js'
import type { OpenPart, PartWriter } from '#services/inference/domain/parts.ts'

/** A piece of a text that may continue. */
interface Piece {
  readonly text: string
  readonly tokens: readonly LogProbability[]
  /** The stop text before which the whole answer ends here; undefined: it continues. */
  readonly met?: string | undefined
  /** What came from there on. */
  readonly rest?: string
}

/**
 * Writes the texts of an answer, and ends it before the first of several stop texts that one of them comes to contain,
 * since the API has no such setting.
 */
export class Stopper {
  readonly #writer: PartWriter
  readonly #stop: readonly string[]
  readonly #watched = new Map<OpenPart, StopTexts>()
  /** The text before which the answer ended; undefined: there was none. */
  met: string | undefined

  constructor(writer: PartWriter, stop: readonly string[]) {
    this.#writer = writer
    this.#stop = stop
  }

  /** Passes on the text, except what may be the beginning of a stop text. */
  extend(part: OpenPart, text: string, tokens?: readonly LogProbability[]): void {
    if (part.kind !== Kind.TEXT || this.#stop.length === 0) this.#writer.extend(part, text, tokens)
    else {
      const watch = this.#watched.get(part) ?? new StopTexts(this.#stop)
      this.#watched.set(part, watch)
      const piece = watch.push(text, tokens)
      this.#pass(part, piece)
      this.met = piece.met
      this.#writer.withhold(piece.rest ?? '')
    }
  }

  /** What has come of a part, whether it was passed on or not. */
  textOf(part: OpenPart): string {
    return `${part.text}${part.half}${this.#watched.get(part)?.text ?? ''}`
  }

  end(part: OpenPart): void {
    const watch = this.#watched.get(part)
    if (watch !== undefined && this.met === undefined) this.#pass(part, watch.end())
    this.#watched.delete(part)
    this.#writer.end(part)
  }

  #pass(part: OpenPart, { text, tokens }: Piece): void {
    if (text !== '') this.#writer.extend(part, text, tokens)
  }
}

/**
 * Ends a text before the first of several stop texts that it comes to contain. Text that may be the beginning of one is
 * held back, and with log probabilities everything that came with it.
 */
class StopTexts {
  readonly #seekers: readonly Seeker[]
  /** What is held back. */
  text = ''
  #tokens: LogProbability[] = []

  constructor(texts: readonly string[]) {
    this.#seekers = texts.filter((text) => text !== '').map((text) => new Seeker(text))
  }

  push(delta: string, tokens: readonly LogProbability[] = []): Piece {
    this.text += delta
    for (const token of tokens) this.#tokens.push(token)
    for (let at = 0; at < delta.length; at++) {
      const met = this.#step(delta.charCodeAt(at))
      if (met === undefined) continue
      const text = this.text.slice(0, this.text.length - (delta.length - at - 1) - met.length)
      return { text, tokens: this.#within(text.length), met, rest: this.text.slice(text.length) }
    }
    const held = this.#seekers.reduce((most, { length }) => Math.max(most, length), 0)
    if (held > 0 && this.#tokens.length > 0) return { text: '', tokens: [] }
    return this.#release(this.text.length - held)
  }

  /** The text that was held back: nothing more comes. */
  end(): Piece {
    return this.#release(this.text.length)
  }

  /** The longest of the stop texts that end here. */
  #step(letter: number): string | undefined {
    let met: string | undefined
    for (const seeker of this.#seekers) {
      if (seeker.step(letter) && (met?.length ?? 0) < seeker.text.length) met = seeker.text
    }
    return met
  }

  #release(length: number): Piece {
    const piece = { text: this.text.slice(0, length), tokens: this.#tokens }
    this.text = this.text.slice(length)
    this.#tokens = []
    return piece
  }

  #within(length: number): LogProbability[] {
    let end = 0
    return this.#tokens.filter(({ token }) => {
      end += token.length
      return end <= length
    })
  }
}

/**
 * Searches for a text letter by letter, reading each only once however the text repeats itself (Knuth, Morris and
 * Pratt).
 */
class Seeker {
  readonly text: string
  /** How many letters of the text have been matched at the end of what came. */
  length = 0
  /** By number of matched letters: how many remain matched if the next letter differs. */
  readonly #shorter: Int32Array

  constructor(text: string) {
    this.text = text
    this.#shorter = new Int32Array(text.length + 1)
    for (let at = 1, length = 0; at < text.length; at++) {
      while (length > 0 && text[at] !== text[length]) length = this.#shorter[length] ?? 0
      if (text[at] === text[length]) length++
      this.#shorter[at + 1] = length
    }
  }

  /** Whether this letter completes the text; then the search is over. */
  step(letter: number): boolean {
    while (this.length > 0 && this.text.charCodeAt(this.length) !== letter)
      this.length = this.#shorter[this.length] ?? 0
    if (this.text.charCodeAt(this.length) === letter) this.length++
    return this.length === this.text.length
  }
}
