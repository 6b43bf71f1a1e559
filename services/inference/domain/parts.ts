import type { JsonObject } from '#shared/json.ts'
import type { Part } from './conversation.ts'
import type { FinishDetails, FinishReason, GenerationEvent, LogProbability, Source, Warning } from './generation.ts'
import { isTooDeep } from './nesting.ts'
import { type GrowingKind, MAX_NAME, type OpenPart, openPart, wholePart } from './open-part.ts'
import { AnswerRoom } from './parts/answer-room.ts'
import type { Called } from './tools.ts'

export type { GrowingKind, OpenPart }

/** The minimum size of a part, or of an annotation of one. */
const PART_CHARACTERS = 200

/**
 * Numbers the parts of an answer, and writes their events in order. An answer of more than a million characters is cut
 * off, and ends because of its length.
 */
export class PartWriter {
  readonly #warnings: readonly Warning[]
  /** Events since the last `take`. */
  #events: GenerationEvent[] = []
  #next = 0
  readonly #room = new AnswerRoom()
  #begun = false

  /** `warnings`: what the answer begins with. */
  constructor(warnings: readonly Warning[] = []) {
    this.#warnings = warnings
  }

  /** Whether the answer has begun. */
  get begun(): boolean {
    return this.#begun
  }

  /** Whether the answer was cut off; anything added now is dropped, and texts count as withheld. */
  get full(): boolean {
    return this.#room.full
  }

  /** Cuts the answer off. */
  cut(): void {
    this.#room.full = true
  }

  /** Events since the last `take`. */
  get size(): number {
    return this.#events.length
  }

  /** Returns the events since the last call. */
  take(): GenerationEvent[] {
    const events = this.#events
    this.#events = []
    return events
  }

  /** Begins the answer, unless it has begun. Its first part does so, and so does its end. */
  begin(): void {
    if (this.#begun) return
    this.#begun = true
    this.#events.push({ type: 'started', warnings: this.#warnings })
  }

  /** Adds an event that belongs to no part. */
  push(event: GenerationEvent): void {
    this.#events.push(event)
  }

  /**
   * `called`: only with `tool-call`. `phase`: the model's phase for a text. `metadata`: what else the provider says
   * about the part; undefined: nothing.
   */
  start(kind: GrowingKind, called?: Called, phase?: string, metadata?: JsonObject): OpenPart {
    const isDropped = this.#room.full
    const index = this.#number()
    const fits = called?.signature === undefined || this.#room.fits(called.signature)
    const part = openPart(index, kind, fits ? called : { ...called, signature: undefined, format: undefined }, phase)
    part.metadata = metadata
    part.isDropped = isDropped
    if (isDropped) return part
    const said = phase === undefined ? {} : { phase }
    const besides = metadata === undefined ? {} : { providerMetadata: metadata }
    this.#events.push({ type: 'part-started', index, kind, ...part.called, ...said, ...besides })
    return part
  }

  /**
   * Passes a text on, in whole characters, since the halves of a surrogate pair may come separately. `tokens`: the log
   * probabilities of the text.
   */
  extend(part: OpenPart, text: string, tokens: readonly LogProbability[] = NO_TOKENS): void {
    if (this.#room.full) {
      this.withhold(text)
      return
    }
    for (const token of this.#room.admit(tokens)) part.tokens.push(token)
    const whole = part.held + text
    part.held = endsInHalf(whole) ? whole.slice(-1) : ''
    this.#extend(part, part.held === '' ? whole : whole.slice(0, -1))
  }

  end(part: OpenPart): void {
    if (part.isDropped) return
    this.#extend(part, part.held)
    const isCounted = part.signature === (part.called?.signature ?? '')
    if (!isCounted && !this.#room.fits(part.signature)) part.signature = ''
    if (part.encrypted !== '' && !this.#room.fits(part.encrypted)) part.encrypted = ''
    const whole = wholePart(part)
    const { index, metadata } = part
    this.#events.push({
      type: 'part-ended',
      index,
      part: metadata === undefined ? whole : { ...whole, providerMetadata: metadata },
    })
  }

  /** Counts a text that nobody gets. */
  withhold(text: string): void {
    if (text !== '') this.#events.push({ type: 'withheld', bytes: Buffer.byteLength(text) })
  }

  /** The last event. */
  finish(reason: FinishReason, rawReason: string, details?: Omit<FinishDetails, 'rawReason'>): void {
    this.begin()
    const raw = rawReason.slice(0, MAX_NAME) || undefined
    this.#events.push({ type: 'finished', reason: this.#room.full ? 'length' : reason, rawReason: raw, ...details })
  }

  /**
   * Adds an annotation of a part to the list with that name; returns false if there is no room for it, or if it is
   * nested too deeply.
   */
  note(part: OpenPart, list: string, item: JsonObject): boolean {
    if (isTooDeep(item)) return false
    const size = Math.max(JSON.stringify(item).length, PART_CHARACTERS)
    if (this.#room.claim(size) < size) return false
    const known = part.metadata?.[list]
    part.metadata = { ...part.metadata, [list]: [...(Array.isArray(known) ? known : []), item] }
    return true
  }

  /** Adds a source of the text of a part. */
  cite(part: OpenPart, source: Omit<Source, 'partIndex'>): void {
    if (part.isDropped) return
    this.#events.push({ type: 'source', source: { partIndex: part.index, ...source } })
  }

  /** Writes a part that comes whole; an item that is nested too deeply is left out. */
  whole(kind: 'image' | 'file' | 'reasoning' | 'foreign', part: Part): void {
    if (this.#room.full) return
    if (part.type === 'reasoning' && !this.#room.fits(part.encrypted ?? '')) return
    if (part.type === 'foreign' && (isTooDeep(part.item) || !this.#room.fits(JSON.stringify(part.item)))) return
    const index = this.#number()
    this.#events.push({ type: 'part-started', index, kind })
    this.#events.push({ type: 'part-ended', index, part })
  }

  #number(): number {
    this.begin()
    this.#room.claim(PART_CHARACTERS)
    return this.#next++
  }

  #extend(part: OpenPart, text: string): void {
    const room = this.#room.claim(text.length)
    const cut = room < text.length && endsInHalf(text.slice(0, room)) ? room - 1 : room
    const kept = text.slice(0, cut).toWellFormed()
    if (cut < text.length) this.withhold(text.slice(cut))
    const { index, tokens } = part
    if (tokens.length === 0) {
      if (kept === '') return
      part.text.add(kept)
      this.#events.push({ type: 'part-extended', index, text: kept })
      return
    }
    if (kept === '' && part.held !== '') return
    part.text.add(kept)
    part.tokens = []
    this.#events.push({ type: 'part-extended', index, text: kept, logProbabilities: tokens })
  }
}

const NO_TOKENS: readonly LogProbability[] = []

/** Whether a text ends with a high surrogate, the first half of a pair. */
function endsInHalf(text: string): boolean {
  const last = text.charCodeAt(text.length - 1)
  return last >= 0xd800 && last <= 0xdbff
}
