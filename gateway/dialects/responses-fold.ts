import { FinishReason } from '#gen/portico/inference/v1/inference_pb.js'
import {
  type GenerationEvent,
  type GenerationFinished,
  type PartStarted,
  PartStarted_Kind,
} from '#gen/portico/inference/v1/inference_service_pb.js'
import { CallItem } from './responses-call-item.ts'
import type { ResponseFailure } from './responses-failure.ts'
import type { ResponsesFrames } from './responses-frames.ts'
import type { ItemPlace, OutputItem } from './responses-item.ts'
import { MessageItem } from './responses-message-item.ts'
import { usageJson } from './responses-object.ts'
import { PictureItem } from './responses-picture-item.ts'
import { ReasoningItem } from './responses-reasoning-item.ts'

type Json = Readonly<Record<string, unknown>>

/** What a response has from the start. */
export interface ResponseSeed {
  /** `resp_…` */
  readonly id: string
  /** What it says of its request. */
  readonly echo: Json
  /** Milliseconds since the epoch. */
  readonly now: () => number
}

/**
 * Folds the events of a generation into the response object, and, with `frames`, tells a stream about each step. That a part ended is told
 * with what follows it, since only then it is known whether it was cut off.
 */
export class ResponsesFold {
  readonly #seed: ResponseSeed
  readonly #frames: ResponsesFrames | undefined
  readonly #createdAt: number
  readonly #items: OutputItem[] = []
  readonly #open = new Map<number, OutputItem>()
  #ended: OutputItem | undefined
  #model = ''
  #last: Json = { status: 'in_progress', completed_at: null, error: null, incomplete_details: null, usage: null }
  #over = false

  constructor(seed: ResponseSeed, frames: ResponsesFrames | undefined) {
    this.#seed = seed
    this.#frames = frames
    this.#createdAt = this.#seconds()
  }

  /** Whether the last event came. */
  get over(): boolean {
    return this.#over
  }

  /** The response as it is now. */
  toJson(): Json {
    const { id, echo } = this.#seed
    return {
      id,
      object: 'response',
      created_at: this.#createdAt,
      model: this.#model,
      output: this.#items.map((item) => item.toJson()),
      output_text: this.#items.map((item) => (item instanceof MessageItem ? item.outputText : '')).join(''),
      ...this.#last,
      ...echo,
    }
  }

  /** Takes events in, in order. */
  add(events: readonly GenerationEvent[]): void {
    for (const { event } of events) {
      if (this.#ended !== undefined && event.case !== 'finished') this.#close('completed')
      switch (event.case) {
        case 'partExtended':
          this.#open.get(event.value.index)?.extend(event.value.text)
          break
        case 'started':
          this.#start(event.value.model)
          break
        case 'partStarted':
          this.#begin(event.value)
          break
        case 'partEnded': {
          const { index, part } = event.value
          const item = this.#open.get(index)
          if (item === undefined || part === undefined) break
          this.#open.delete(index)
          item.end(part.part)
          this.#ended = item
          break
        }
        case 'finished':
          this.#finish(event.value)
      }
    }
  }

  /** The generation broke off: what there is stays, cut off. */
  fail({ code, message, errorType }: ResponseFailure): void {
    if (this.#over) return
    this.#close('completed')
    for (const item of this.#open.values()) item.close('incomplete')
    const more = { error: { code, message }, error_type: errorType }
    this.#end('failed', { completed_at: null, incomplete_details: null, usage: null, ...more }, more)
  }

  #start(model: string): void {
    this.#model = model
    const frames = this.#frames
    if (frames === undefined) return
    const { id } = this.#seed
    frames.begin(this.toJson(), { id, object: 'response', status: 'in_progress' })
  }

  #begin(started: PartStarted): void {
    const place = { responseId: this.#seed.id, index: this.#items.length, frames: this.#frames }
    const item = itemFor(place, started)
    this.#items.push(item)
    this.#open.set(started.index, item)
  }

  #finish(finished: GenerationFinished): void {
    const reason = INCOMPLETE[finished.reason]
    const status = reason === undefined ? 'completed' : 'incomplete'
    this.#close(status)
    for (const item of this.#open.values()) item.close(status)
    const usage = usageJson(finished)
    const details = reason === undefined ? null : { reason }
    this.#end(
      status,
      { completed_at: this.#seconds(), error: null, incomplete_details: details, usage },
      { usage, ...(details === null ? {} : { incomplete_details: details }) },
    )
  }

  #close(status: 'completed' | 'incomplete'): void {
    this.#ended?.close(status)
    this.#ended = undefined
  }

  #end(status: 'completed' | 'incomplete' | 'failed', members: Json, specified: Json): void {
    this.#over = true
    this.#last = { status, ...members }
    const { id } = this.#seed
    this.#frames?.end(`response.${status}`, this.toJson(), { id, object: 'response', status, ...specified })
  }

  #seconds(): number {
    return Math.floor(this.#seed.now() / 1_000)
  }
}

const INCOMPLETE: Readonly<Record<number, string>> = {
  [FinishReason.LENGTH]: 'max_output_tokens',
  [FinishReason.CONTENT_FILTER]: 'content_filter',
}

function itemFor(place: ItemPlace, started: PartStarted): OutputItem {
  switch (started.kind) {
    case PartStarted_Kind.TEXT:
    case PartStarted_Kind.REFUSAL:
      return new MessageItem(place, started.kind === PartStarted_Kind.REFUSAL)
    case PartStarted_Kind.REASONING:
    case PartStarted_Kind.REASONING_SUMMARY:
      return new ReasoningItem(place, started.kind === PartStarted_Kind.REASONING_SUMMARY)
    case PartStarted_Kind.TOOL_CALL:
      return new CallItem(place, started)
    case PartStarted_Kind.IMAGE:
      return new PictureItem(place)
    default:
      throw new Error(`A part of the kind ${started.kind} has no form in a response`)
  }
}
