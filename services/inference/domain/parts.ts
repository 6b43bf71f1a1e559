import type { JsonObject } from '#shared/json.ts'
import type { Part } from './conversation.ts'
import type { GenerationEvent, PartKind, Source } from './generation.ts'

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

  /** `called`: with `tool-call` only. */
  start(kind: GrowingKind, called?: Called): OpenPart {
    const index = this.#next++
    this.#events.push({ type: 'part-started', index, kind, ...called })
    return { index, kind, called, text: '', signature: '', metadata: undefined }
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
    this.#events.push({ type: 'part-started', index, kind })
    this.#events.push({ type: 'part-ended', index, part })
  }
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
