import type { JsonObject } from '#shared/json.ts'
import type { Part } from './conversation.ts'
import type { GenerationEvent, PartKind, Source } from './generation.ts'

/** The text-like kinds of part, which grow. */
export type GrowingKind = Exclude<PartKind, 'image' | 'file'>

/** A part that has begun and not ended. */
export interface OpenPart {
  readonly index: number
  readonly kind: GrowingKind
  readonly callId: string
  readonly toolName: string
  text: string
  /** The provider's proof of a thought. */
  signature: string
  /** What the provider says of the part that no other member holds. */
  metadata: JsonObject | undefined
}

/** Numbers the parts of one answer, and writes their events in order. */
export class PartWriter {
  /** Events since the last `take`. */
  #events: GenerationEvent[] = []
  #next = 0

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

  start(kind: GrowingKind, callId = '', toolName = ''): OpenPart {
    const index = this.#next++
    this.#events.push({ type: 'part-started', index, kind, callId, toolName })
    return { index, kind, callId, toolName, text: '', signature: '', metadata: undefined }
  }

  extend(part: OpenPart, text: string): void {
    part.text += text
    this.#events.push({ type: 'part-extended', index: part.index, text })
  }

  end(part: OpenPart): void {
    const whole = wholePart(part)
    const { index, metadata } = part
    this.#events.push({
      type: 'part-ended',
      index,
      part: metadata === undefined ? whole : { ...whole, providerMetadata: metadata },
    })
  }

  /** The text of a part rests on a source. */
  cite(part: OpenPart, source: Omit<Source, 'partIndex'>): void {
    this.#events.push({ type: 'source', source: { partIndex: part.index, ...source } })
  }

  /** A part that comes whole. */
  whole(kind: 'image' | 'file' | 'reasoning', part: Part): void {
    const index = this.#next++
    this.#events.push({ type: 'part-started', index, kind, callId: '', toolName: '' })
    this.#events.push({ type: 'part-ended', index, part })
  }
}

function wholePart(part: OpenPart): Part {
  const { kind, text, signature } = part
  if (kind === 'tool-call') return { type: kind, callId: part.callId, name: part.toolName, arguments: text }
  if (kind === 'reasoning') return { type: 'reasoning', text, summary: '', signature, encrypted: '', id: '' }
  if (kind === 'reasoning-summary') {
    return { type: 'reasoning', text: '', summary: text, signature, encrypted: '', id: '' }
  }
  return { type: kind, text }
}
