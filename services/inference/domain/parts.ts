import type { JsonObject } from '#shared/json.ts'
import type { Part } from './conversation.ts'
import type { FinishReason, GenerationEvent, PartKind, Source } from './generation.ts'

/** The text-like kinds of part, which grow. */
export type GrowingKind = Exclude<PartKind, 'image' | 'file'>

/** The call of a `tool-call`. */
export interface Called {
  readonly callId: string
  readonly toolName: string
}

/** A part that has begun and not ended. */
export interface OpenPart {
  readonly index: number
  readonly kind: GrowingKind
  /** With `tool-call` only. */
  readonly called: Called | undefined
  text: string
  /** The first half of a character whose other half has not come yet; else empty. */
  held: string
  /** The provider's proof of a thought. */
  signature: string
  /** What the provider says of the part that no other member holds. */
  metadata: JsonObject | undefined
}

/**
 * The most characters (UTF-16 code units) that one answer holds. A message holds each up to twice, in JSON that escapes it with
 * up to six bytes: so no document outgrows MongoDB's 16 MB, and nothing that is written takes long.
 */
const MAX_CHARACTERS = 1_000_000
/** What a part, and what is noted of one, counts at least. */
const PART_CHARACTERS = 200
/** Of an id or a name that a provider made up. */
const MAX_NAME = 1_000

/**
 * Numbers the parts of one answer, and writes their events in order. An answer of more than a million characters is cut:
 * it ends for its length.
 */
export class PartWriter {
  /** Events since the last `take`. */
  #events: GenerationEvent[] = []
  #next = 0
  #room = MAX_CHARACTERS
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

  /** `called`: with `tool-call` only. */
  start(kind: GrowingKind, called?: Called): OpenPart {
    const index = this.#number()
    const short = called && { callId: called.callId.slice(0, MAX_NAME), toolName: called.toolName.slice(0, MAX_NAME) }
    this.#events.push({ type: 'part-started', index, kind, ...short })
    return { index, kind, called: short, text: '', held: '', signature: '', metadata: undefined }
  }

  /** Passes a text on, whole characters only: both halves of one may come apart. */
  extend(part: OpenPart, text: string): void {
    const whole = part.held + text
    part.held = endsInHalf(whole) ? whole.slice(-1) : ''
    this.#extend(part, part.held === '' ? whole : whole.slice(0, -1))
  }

  end(part: OpenPart): void {
    this.#extend(part, part.held)
    if (!this.#fits(part.signature)) part.signature = ''
    const whole = wholePart(part)
    const { index, metadata } = part
    this.#events.push({
      type: 'part-ended',
      index,
      part: metadata === undefined ? whole : { ...whole, providerMetadata: metadata },
    })
  }

  /** The last event. */
  finish(reason: FinishReason, rawReason: string): void {
    const raw = rawReason.slice(0, MAX_NAME) || undefined
    this.#events.push({ type: 'finished', reason: this.#full ? 'length' : reason, rawReason: raw })
  }

  /** Notes what a provider says of a part besides, in a list of that name; false: there is no room for it. */
  note(part: OpenPart, list: string, item: JsonObject): boolean {
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

  /** A part that comes whole. */
  whole(kind: 'image' | 'file' | 'reasoning', part: Part): void {
    if (part.type === 'reasoning' && !this.#fits(part.encrypted ?? '')) return
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
    if (kept === '') return
    part.text += kept
    this.#events.push({ type: 'part-extended', index: part.index, text: kept })
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

/** Whether a text ends with the first half of a character (a high surrogate). */
function endsInHalf(text: string): boolean {
  const last = text.charCodeAt(text.length - 1)
  return last >= 0xd800 && last <= 0xdbff
}

function wholePart(part: OpenPart): Part {
  const { kind, called, text } = part
  if (called !== undefined) return { type: 'tool-call', callId: called.callId, name: called.toolName, arguments: text }
  const words = text === '' ? undefined : text
  const proof = part.signature === '' ? {} : { signature: part.signature }
  if (kind === 'reasoning') return { type: 'reasoning', text: words, ...proof }
  if (kind === 'reasoning-summary') return { type: 'reasoning', summary: words, ...proof }
  return { type: kind === 'refusal' ? 'refusal' : 'text', text }
}
