import { create, type MessageInitShape } from '@bufbuild/protobuf'
import {
  FinishReason,
  type LogProbability,
  type Part,
  PartSchema,
  type Source,
  UsageSchema,
  type Warning,
} from '#gen/portico/inference/v1/inference_pb.js'
import {
  type GenerationEvent,
  GenerationEventSchema,
  type GenerationFinished,
  PartStarted_Kind as Kind,
} from '#gen/portico/inference/v1/inference_service_pb.js'
import type { JsonObject } from '#shared/json.ts'
import type { ContentInit } from './conversation.ts'
import type { ProviderEvent, ReportedUsage } from './generation.ts'
import {
  type CallInit,
  type GrowingKind,
  isTooDeep,
  MAX_NAME,
  type OpenPart,
  openPart,
  wholePart,
} from './open-part.ts'

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

class AnswerRoom {
  #characters = MAX_CHARACTERS
  #tokens = MAX_LOG_PROBABILITIES
  /** Whether more was claimed than there was, or nothing more is to come. */
  full = false

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

export type { GrowingKind, OpenPart }

/** Details of the end of an answer; what is not given is undefined. */
export type FinishDetails = Pick<GenerationFinished, 'stopText' | 'serviceTier' | 'providerMetadata'>

type EventInit = Exclude<MessageInitShape<typeof GenerationEventSchema>, GenerationEvent>['event']

const WHOLE = { image: Kind.IMAGE, file: Kind.FILE, reasoning: Kind.REASONING, foreign: Kind.FOREIGN } as const

/** The minimum size of a part, or of an annotation of one. */
const PART_CHARACTERS = 200

/**
 * Numbers the parts of an answer, and writes their events in order. An answer of more than a million characters is cut
 * off, and ends because of its length.
 */
export class PartWriter {
  readonly #warnings: readonly Warning[]
  /** Events since the last `take`. */
  #events: ProviderEvent[] = []
  #next = 0
  readonly #room = new AnswerRoom()
  #hasBegun = false

  /** `warnings`: what the answer begins with. */
  constructor(warnings: readonly Warning[] = []) {
    this.#warnings = warnings
  }

  get begun(): boolean {
    return this.#hasBegun
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
  take(): ProviderEvent[] {
    const events = this.#events
    this.#events = []
    return events
  }

  /** Begins the answer, unless it has begun. Its first part does so, and so does its end. */
  begin(): void {
    if (this.#hasBegun) return
    this.#hasBegun = true
    this.#push({ case: 'started', value: { warnings: [...this.#warnings] } })
  }

  /** Begins an answer to a request that its provider refuses as too long, and charges nothing for. */
  beginUnused(): void {
    if (this.#hasBegun) return
    this.begin()
    this.report({ usage: create(UsageSchema) })
  }

  /** Adds what the provider reports about the usage. */
  report(usage: ReportedUsage): void {
    this.#events.push({ event: { case: 'usage', value: usage } })
  }

  /**
   * `call`: only with a tool call. `phase`: the model's phase for a text. `metadata`: what else the provider says about
   * the part; undefined: nothing.
   */
  start(kind: GrowingKind, call?: CallInit, phase?: string, metadata?: JsonObject): OpenPart {
    const isDropped = this.#room.full
    const index = this.#number()
    const fits = call?.signature === undefined || this.#room.fits(call.signature)
    const part = openPart(index, kind, fits ? call : { ...call, signature: undefined }, phase, metadata)
    part.isDropped = isDropped
    if (isDropped) return part
    const value = { index, kind, toolCall: part.call, phase, providerMetadata: metadata }
    this.#push({ case: 'partStarted', value })
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
    const whole = part.half + text
    part.half = endsInHalf(whole) ? whole.slice(-1) : ''
    this.#extend(part, part.half === '' ? whole : whole.slice(0, -1))
  }

  end(part: OpenPart): void {
    if (part.isDropped) return
    this.#extend(part, part.half)
    const isCounted = part.signature === (part.call?.signature ?? '')
    if (!isCounted && !this.#room.fits(part.signature)) part.signature = ''
    if (part.encrypted !== '' && !this.#room.fits(part.encrypted)) part.encrypted = ''
    this.#end(part.index, wholePart(part))
  }

  /** Counts a text that nobody gets. */
  withhold(text: string): void {
    if (text !== '') this.#events.push({ event: { case: 'withheld', value: Buffer.byteLength(text) } })
  }

  /** The last event. */
  finish(reason: FinishReason, rawReason: string, details?: FinishDetails): void {
    this.begin()
    const raw = rawReason.slice(0, MAX_NAME) || undefined
    const value = { reason: this.#room.full ? FinishReason.LENGTH : reason, rawReason: raw, ...details }
    this.#push({ case: 'finished', value })
  }

  /**
   * Adds an annotation of a part to the list with that name; returns false if there is no room for it, or if it is
   * nested too deeply.
   */
  note(part: OpenPart, list: string, item: JsonObject): boolean {
    if (isTooDeep(item)) return false
    const size = Math.max(JSON.stringify(item).length, PART_CHARACTERS)
    if (this.#room.claim(size) < size) return false
    const before = part.metadata?.[list]
    part.metadata = { ...part.metadata, [list]: [...(Array.isArray(before) ? before : []), item] }
    return true
  }

  /** Adds a source of the text of a part. */
  cite(part: OpenPart, source: Partial<Omit<Source, '$typeName'>>): void {
    if (part.isDropped) return
    this.#push({ case: 'source', value: { ...source, partIndex: part.index } })
  }

  /** Writes a part that comes whole; an item that is nested too deeply is left out. */
  whole(part: Extract<ContentInit, { readonly case: keyof typeof WHOLE }>): void {
    if (this.#room.full) return
    if (part.case === 'reasoning' && !this.#room.fits(part.value.encrypted ?? '')) return
    if (part.case === 'foreign') {
      const { item = {} } = part.value
      if (isTooDeep(item) || !this.#room.fits(JSON.stringify(item))) return
    }
    const index = this.#number()
    this.#push({ case: 'partStarted', value: { index, kind: WHOLE[part.case] } })
    this.#end(index, create(PartSchema, { part }))
  }

  #push(event: EventInit): void {
    this.#events.push(create(GenerationEventSchema, { event }))
  }

  #end(index: number, part: Part): void {
    this.#push({ case: 'partEnded', value: { index, part } })
  }

  #number(): number {
    this.begin()
    this.#room.claim(PART_CHARACTERS)
    return this.#next++
  }

  #extend(part: OpenPart, text: string): void {
    const room = this.#room.claim(text.length)
    const cut = room < text.length && endsInHalf(text.slice(0, room)) ? room - 1 : room
    const head = text.slice(0, cut).toWellFormed()
    if (cut < text.length) this.withhold(text.slice(cut))
    const { tokens } = part
    if (head === '' && (tokens.length === 0 || part.half !== '')) return
    part.text += head
    part.tokens = []
    const value = {
      $typeName: 'portico.inference.v1.PartExtended' as const,
      index: part.index,
      text: head,
      logProbabilities: tokens,
    }
    // What `create` makes, written out, since it is made for each word: `create` takes eight times as long.
    this.#events.push({ $typeName: 'portico.inference.v1.GenerationEvent', event: { case: 'partExtended', value } })
  }
}

const NO_TOKENS: readonly LogProbability[] = []

/** Whether a text ends with a high surrogate, the first half of a pair. */
function endsInHalf(text: string): boolean {
  const last = text.charCodeAt(text.length - 1)
  return last >= 0xd800 && last <= 0xdbff
}
