import type { LogProbability, Part, Source } from '#gen/portico/inference/v1/inference_pb.js'
import {
  type GenerationEvent,
  type GenerationFinished,
  PartStarted_Kind as Kind,
  type PartStarted,
} from '#gen/portico/inference/v1/inference_service_pb.js'
import type { ReasoningDetail } from '../completion.ts'
import type { ChatFailure } from '../failure.ts'
import { type ChatSeed, fromReason, fromUsage, type Served } from '../from-generation.ts'
import {
  afterWords,
  fromCallProof,
  fromFile,
  fromForeign,
  fromImage,
  fromSources,
  fromThought,
  fromTokens,
} from '../from-part.ts'
import type { ChatFrames, Growth } from './frames.ts'

/** The pieces of the chunks by which a part grows; `number`: of a thought or a call. Undefined: it comes whole. */
function growthOf(frames: ChatFrames, { kind, toolCall }: PartStarted, number: number): Growth | undefined {
  switch (kind) {
    case Kind.TEXT:
      return frames.growth('{"content":', '}')
    case Kind.REFUSAL:
      return frames.growth('{"refusal":', '}')
    case Kind.TOOL_CALL: {
      const member = toolCall?.custom ? '"custom":{"input":' : '"function":{"arguments":'
      return frames.growth(`{"tool_calls":[{"index":${number},${member}`, '}}]}')
    }
    case Kind.REASONING:
    case Kind.REASONING_SUMMARY: {
      const words = kind === Kind.REASONING ? '"reasoning.text","text":' : '"reasoning.summary","summary":'
      return frames.growth('{"reasoning":', `,"index":${number}}]}`, `,"reasoning_details":[{"type":${words}`)
    }
    default:
      return undefined
  }
}

interface LivePart {
  readonly kind: Kind
  /** Of a thought or a call: its number among those. */
  readonly number: number
  /** Of text: where it begins in the content. */
  readonly start: number
  /** Undefined: it does not grow. */
  readonly growth: Growth | undefined
  /** Characters so far. */
  length: number
}

/**
 * Turns the events of a generation into chunks. Parts that are not streamed piece by piece are built by the functions
 * that also build whole completions.
 */
export class ChatFold {
  readonly #frames: ChatFrames
  readonly #seed: ChatSeed
  readonly #parts: LivePart[] = []
  readonly #sources: Source[] = []
  #content = 0
  #thoughts = 0
  #calls = 0
  #images = 0
  #served: Served | undefined
  #over = false

  constructor(seed: ChatSeed, frames: ChatFrames) {
    this.#seed = seed
    this.#frames = frames
  }

  /** Takes events in, in order. */
  add(events: readonly GenerationEvent[]): void {
    for (const { event } of events) {
      switch (event.case) {
        case 'partExtended': {
          const part = this.#parts[event.value.index]
          if (part !== undefined) this.#extend(part, event.value.text, event.value.logProbabilities)
          break
        }
        case 'started':
          this.#served = event.value
          this.#frames.begin(event.value.model, event.value.providerId)
          break
        case 'partStarted':
          this.#parts[event.value.index] = this.#begin(event.value)
          break
        case 'partEnded': {
          const part = this.#parts[event.value.index]
          if (part !== undefined && event.value.part !== undefined) this.#end(part, event.value.part)
          break
        }
        case 'source':
          this.#sources.push(event.value)
          break
        case 'finished':
          this.#finish(event.value)
      }
    }
  }

  /** The generation broke off. */
  fail(failure: ChatFailure): void {
    if (this.#over) return
    this.#over = true
    this.#frames.fail(failure)
  }

  #begin(started: PartStarted): LivePart {
    const { kind } = started
    const number = this.#numberOf(kind)
    if (kind === Kind.TOOL_CALL) this.#announce(started, number)
    return { kind, number, start: this.#content, growth: growthOf(this.#frames, started, number), length: 0 }
  }

  #numberOf(kind: Kind): number {
    switch (kind) {
      case Kind.TOOL_CALL:
        return this.#calls++
      case Kind.IMAGE:
        return this.#images++
      case Kind.REASONING:
      case Kind.REASONING_SUMMARY:
      case Kind.FOREIGN:
        return this.#thoughts++
      default:
        return 0
    }
  }

  #announce({ toolCall }: PartStarted, index: number): void {
    const { callId: id = '', name = '', custom = false } = toolCall ?? {}
    const call = custom
      ? { index, id, type: 'custom' as const, custom: { name, input: '' } }
      : { index, id, type: 'function' as const, function: { name, arguments: '' } }
    this.#frames.delta({ tool_calls: [call] })
  }

  #extend(part: LivePart, text: string, tokens: readonly LogProbability[]): void {
    part.length += text.length
    if (part.kind === Kind.TEXT) this.#content += text.length
    if (part.growth === undefined) return
    this.#frames.grow(part.growth, text, tokens.length === 0 ? null : fromTokens(part.kind === Kind.REFUSAL, tokens))
  }

  /** What remains to be sent of a part once it is complete. */
  #end(live: LivePart, { part }: Part): void {
    switch (part.case) {
      case 'text':
      case 'refusal':
        if (live.length === 0 && part.value.text !== '') this.#extend(live, part.value.text, [])
        break
      case 'reasoning': {
        const { summary = '', text = '' } = part.value
        const kind = live.kind === Kind.REASONING_SUMMARY ? 'summary' : 'text'
        if (live.length > 0) this.#detail(afterWords(part.value, live.number, kind))
        else this.#detail(fromThought(part.value, live.number), summary + text)
        break
      }
      case 'toolCall':
        if (live.length === 0 && part.value.arguments !== '') this.#extend(live, part.value.arguments, [])
        if (part.value.signature) this.#detail(fromCallProof(part.value, this.#thoughts++))
        break
      case 'foreign':
        this.#detail(fromForeign(part.value, live.number))
        break
      case 'image': {
        const image = fromImage(part.value, live.number)
        if (image !== undefined) this.#frames.delta({ images: [image] })
        break
      }
      case 'file': {
        const file = fromFile(part.value)
        if (file !== undefined) this.#frames.delta({ files: [file] })
      }
    }
  }

  #detail(details: ReasoningDetail[], reasoning = ''): void {
    if (details.length === 0) return
    this.#frames.delta({ reasoning: reasoning || undefined, reasoning_details: details })
  }

  #finish(finished: GenerationFinished): void {
    this.#over = true
    const texts = new Map<number, { from: number; to: number }>()
    for (const [i, { kind, start, length }] of this.#parts.entries()) {
      if (kind === Kind.TEXT) texts.set(i, { from: start, to: start + length })
    }
    const annotations = fromSources(this.#sources, texts)
    if (annotations.length > 0) this.#frames.delta({ annotations })
    const { reason, rawReason = null, serviceTier } = finished
    this.#frames.end(fromReason(reason), rawReason, {
      service_tier: serviceTier,
      usage: fromUsage(finished),
      openrouter_metadata: this.#served && this.#seed.describe?.(this.#served),
    })
  }
}
