import type { JsonObject } from '#shared/json.ts'
import type { Part } from './conversation.ts'
import type { FinishDetails, FinishReason, GenerationEvent, LogProbability, Source } from './generation.ts'
import { isTooDeep } from './nesting.ts'
import { type GrowingKind, MAX_NAME, type OpenPart, openPart, wholePart } from './open-part.ts'
import type { Called } from './tools.ts'

export type { GrowingKind, OpenPart }

/**
 * Maximum number of characters (UTF-16 code units) in an answer. A message contains each at most twice, in JSON that
 * escapes it with up to six bytes; so no document exceeds MongoDB's 16 MB, and no write takes long.
 */
const MAX_CHARACTERS = 1_000_000
/** The minimum size of a part, or of an annotation of one. */
const PART_CHARACTERS = 200
/**
 * Maximum number of log probabilities in an answer, including alternatives: each takes about a hundred bytes. Later
 * tokens have none.
 */
const MAX_LOG_PROBABILITIES = 500_000

/**
 * Numbers the parts of an answer, and writes their events in order. An answer of more than a million characters is cut
 * off, and ends because of its length.
 */
export class PartWriter {
  /** Events since the last `take`. */
  #events: GenerationEvent[] = []
  #next = 0
  #room = MAX_CHARACTERS
  #tokenRoom = MAX_LOG_PROBABILITIES
  #full = false

  /** Whether the answer was cut off; anything added now is dropped, and texts count as withheld. */
  get full(): boolean {
    return this.#full
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

  /** Adds an event that belongs to no part. */
  push(event: GenerationEvent): void {
    this.#events.push(event)
  }

  /**
   * `called`: only with `tool-call`. `phase`: the model's phase for a text. `metadata`: what else the provider says
   * about the part; undefined: nothing.
   */
  start(kind: GrowingKind, called?: Called, phase?: string, metadata?: JsonObject): OpenPart {
    const isDropped = this.#full
    const index = this.#number()
    const fits = called?.signature === undefined || this.#fits(called.signature)
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
    if (this.#full) {
      this.withhold(text)
      return
    }
    for (const token of this.#admit(tokens)) part.tokens.push(token)
    const whole = part.held + text
    part.held = endsInHalf(whole) ? whole.slice(-1) : ''
    this.#extend(part, part.held === '' ? whole : whole.slice(0, -1))
  }

  end(part: OpenPart): void {
    if (part.isDropped) return
    this.#extend(part, part.held)
    const isCounted = part.signature === (part.called?.signature ?? '')
    if (!isCounted && !this.#fits(part.signature)) part.signature = ''
    if (part.encrypted !== '' && !this.#fits(part.encrypted)) part.encrypted = ''
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
    const raw = rawReason.slice(0, MAX_NAME) || undefined
    this.#events.push({ type: 'finished', reason: this.#full ? 'length' : reason, rawReason: raw, ...details })
  }

  /**
   * Adds an annotation of a part to the list with that name; returns false if there is no room for it, or if it is
   * nested too deeply.
   */
  note(part: OpenPart, list: string, item: JsonObject): boolean {
    if (isTooDeep(item)) return false
    const size = Math.max(JSON.stringify(item).length, PART_CHARACTERS)
    if (this.#claim(size) < size) return false
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
    if (this.#full) return
    if (part.type === 'reasoning' && !this.#fits(part.encrypted ?? '')) return
    if (part.type === 'foreign' && (isTooDeep(part.item) || !this.#fits(JSON.stringify(part.item)))) return
    const index = this.#number()
    this.#events.push({ type: 'part-started', index, kind })
    this.#events.push({ type: 'part-ended', index, part })
  }

  #number(): number {
    this.#claim(PART_CHARACTERS)
    return this.#next++
  }

  #extend(part: OpenPart, text: string): void {
    const room = this.#claim(text.length)
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

  /** As many of them as there is room for. */
  #admit(tokens: readonly LogProbability[]): readonly LogProbability[] {
    let admitted = 0
    for (const { alternatives } of tokens) {
      this.#tokenRoom -= 1 + alternatives.length
      if (this.#tokenRoom < 0) break
      admitted++
    }
    return admitted === tokens.length ? tokens : tokens.slice(0, admitted)
  }

  /** Whether there is room for a text that cannot be cut. */
  #fits(text: string): boolean {
    return this.#claim(text.length) === text.length
  }

  /** How many of the characters there is room for. */
  #claim(characters: number): number {
    const room = Math.min(characters, this.#room)
    this.#room -= room
    if (room < characters) this.#full = true
    return room
  }
}

const NO_TOKENS: readonly LogProbability[] = []

/** Whether a text ends with a high surrogate, the first half of a pair. */
function endsInHalf(text: string): boolean {
  const last = text.charCodeAt(text.length - 1)
  return last >= 0xd800 && last <= 0xdbff
}
