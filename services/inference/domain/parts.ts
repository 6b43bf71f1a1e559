import type { JsonObject } from '#shared/json.ts'
import type { Part } from './conversation.ts'
import type { FinishDetails, FinishReason, GenerationEvent, LogProbability, Source } from './generation.ts'
import { isTooDeep } from './nesting.ts'
import { type Called, type GrowingKind, MAX_NAME, type OpenPart, openPart, wholePart } from './open-part.ts'

export type { Called, GrowingKind, OpenPart }

/**
 * The most characters (UTF-16 code units) that one answer holds. A message holds each up to twice, in JSON that escapes it with
 * up to six bytes: so no document outgrows MongoDB's 16 MB, and nothing that is written takes long.
 */
const MAX_CHARACTERS = 1_000_000
/** What a part, and what is noted of one, counts at least. */
const PART_CHARACTERS = 200
/** Most log probabilities of one answer, alternatives counted: each takes some hundred bytes. What comes after them goes without. */
const MAX_LOG_PROBABILITIES = 500_000

/**
 * Numbers the parts of one answer, and writes their events in order. An answer of more than a million characters is cut:
 * it ends for its length.
 */
export class PartWriter {
  /** Events since the last `take`. */
  #events: GenerationEvent[] = []
  #next = 0
  #room = MAX_CHARACTERS
  #tokenRoom = MAX_LOG_PROBABILITIES
  #full = false

  /** Whether the answer was cut; what is added now is left out. */
  get full(): boolean {
    return this.#full
  }

  /** Events since the last `take`. */
  get size(): number {
    return this.#events.length
  }

  /** What happened since the last call. */
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
   * `called`: with `tool-call` only. `phase`: what a text is said for. `metadata`: what the provider says of the part besides; undefined:
   * nothing.
   */
  start(kind: GrowingKind, called?: Called, phase?: string, metadata?: JsonObject): OpenPart {
    const index = this.#number()
    const part = openPart(index, kind, called, phase)
    part.metadata = metadata
    const said = phase === undefined ? {} : { phase }
    const besides = metadata === undefined ? {} : { providerMetadata: metadata }
    this.#events.push({ type: 'part-started', index, kind, ...part.called, ...said, ...besides })
    return part
  }

  /** Passes a text on, whole characters only: both halves of one may come apart. `tokens`: the log probabilities of the text. */
  extend(part: OpenPart, text: string, tokens: readonly LogProbability[] = NO_TOKENS): void {
    for (const token of this.#admit(tokens)) part.tokens.push(token)
    const whole = part.held + text
    part.held = endsInHalf(whole) ? whole.slice(-1) : ''
    this.#extend(part, part.held === '' ? whole : whole.slice(0, -1))
  }

  end(part: OpenPart): void {
    this.#extend(part, part.held)
    if (part.signature !== '' && !this.#fits(part.signature)) part.signature = ''
    if (part.encrypted !== '' && !this.#fits(part.encrypted)) part.encrypted = ''
    const whole = wholePart(part)
    const { index, metadata } = part
    this.#events.push({
      type: 'part-ended',
      index,
      part: metadata === undefined ? whole : { ...whole, providerMetadata: metadata },
    })
  }

  /** The last event. */
  finish(reason: FinishReason, rawReason: string, details?: Omit<FinishDetails, 'rawReason'>): void {
    const raw = rawReason.slice(0, MAX_NAME) || undefined
    this.#events.push({ type: 'finished', reason: this.#full ? 'length' : reason, rawReason: raw, ...details })
  }

  /** Notes what a provider says of a part besides, in a list of that name; false: there is no room for it, or it is nested too deep. */
  note(part: OpenPart, list: string, item: JsonObject): boolean {
    if (isTooDeep(item)) return false
    const size = Math.max(JSON.stringify(item).length, PART_CHARACTERS)
    if (this.#claim(size) < size) return false
    const known = part.metadata?.[list]
    part.metadata = { ...part.metadata, [list]: [...(Array.isArray(known) ? known : []), item] }
    return true
  }

  /** The text of a part rests on a source. */
  cite(part: OpenPart, source: Omit<Source, 'partIndex'>): void {
    this.#events.push({ type: 'source', source: { partIndex: part.index, ...source } })
  }

  /** A part that comes whole; an item that is nested too deep is left out. */
  whole(kind: 'image' | 'file' | 'reasoning' | 'foreign', part: Part): void {
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
    const { index, tokens } = part
    if (tokens.length === 0) {
      if (kept === '') return
      part.text += kept
      this.#events.push({ type: 'part-extended', index, text: kept })
      return
    }
    if (kept === '' && part.held !== '') return
    part.text += kept
    part.tokens = []
    this.#events.push({ type: 'part-extended', index, text: kept, logProbabilities: tokens })
  }

  /** The first of them for which there is room. */
  #admit(tokens: readonly LogProbability[]): readonly LogProbability[] {
    let admitted = 0
    for (const { alternatives } of tokens) {
      this.#tokenRoom -= 1 + alternatives.length
      if (this.#tokenRoom < 0) break
      admitted++
    }
    return admitted === tokens.length ? tokens : tokens.slice(0, admitted)
  }

  /** Whether a text that cannot be cut has room. */
  #fits(text: string): boolean {
    return this.#claim(text.length) === text.length
  }

  /** How much of it there is room for. */
  #claim(characters: number): number {
    const room = Math.min(characters, this.#room)
    this.#room -= room
    if (room < characters) this.#full = true
    return room
  }
}

const NO_TOKENS: readonly LogProbability[] = []

/** Whether a text ends with the first half of a character (a high surrogate). */
function endsInHalf(text: string): boolean {
  const last = text.charCodeAt(text.length - 1)
  return last >= 0xd800 && last <= 0xdbff
}
