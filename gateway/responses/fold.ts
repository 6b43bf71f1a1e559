import { FinishReason } from '#gen/portico/inference/v1/inference_pb.js'
import type { GenerationEvent, GenerationFinished } from '#gen/portico/inference/v1/inference_service_pb.js'
import type { ResponseFailure } from './failure.ts'
import type { ResponsesFrames } from './frames.ts'
import { usageJson } from './from-generation.ts'
import { MessageItem } from './items/message.ts'
import { ItemQueue } from './queue.ts'

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

/** Folds the events of a generation into the response object, and, with `frames`, tells a stream about each step. */
export class ResponsesFold {
  readonly #seed: ResponseSeed
  readonly #frames: ResponsesFrames | undefined
  readonly #createdAt: number
  readonly #queue: ItemQueue
  #model = ''
  #last: Json = { status: 'in_progress', completed_at: null, error: null, incomplete_details: null, usage: null }
  #over = false

  constructor(seed: ResponseSeed, frames: ResponsesFrames | undefined) {
    this.#seed = seed
    this.#frames = frames
    this.#createdAt = this.#seconds()
    this.#queue = new ItemQueue({ responseId: seed.id, frames })
  }

  /** Whether the last event came. */
  get over(): boolean {
    return this.#over
  }

  /** The response as it is now. */
  toJson(): Json {
    const { id, echo } = this.#seed
    const { items } = this.#queue
    return {
      id,
      object: 'response',
      created_at: this.#createdAt,
      model: this.#model,
      output: items.map((item) => item.toJson()),
      output_text: items.map((item) => (item instanceof MessageItem ? item.outputText : '')).join(''),
      ...this.#last,
      ...echo,
    }
  }

  /** Takes events in, in order. */
  add(events: readonly GenerationEvent[]): void {
    for (const { event } of events) {
      if (event.case !== 'finished') this.#queue.follow()
      switch (event.case) {
        case 'partExtended':
          this.#queue.extend(event.value.index, event.value.text)
          break
        case 'started':
          this.#start(event.value.model)
          break
        case 'partStarted':
          this.#queue.begin(event.value)
          break
        case 'partEnded':
          this.#queue.end(event.value.index, event.value.part?.part ?? { case: undefined })
          break
        case 'finished':
          this.#finish(event.value)
      }
    }
  }

  /** The generation broke off: what there is stays, cut off. */
  fail({ code, message, errorType }: ResponseFailure): void {
    if (this.#over) return
    this.#queue.close('incomplete', 'completed')
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

  #finish(finished: GenerationFinished): void {
    const reason = INCOMPLETE[finished.reason]
    const status = reason === undefined ? 'completed' : 'incomplete'
    this.#queue.close(status, status)
    const usage = usageJson(finished)
    const details = reason === undefined ? null : { reason }
    this.#end(
      status,
      { completed_at: this.#seconds(), error: null, incomplete_details: details, usage },
      { usage, ...(details === null ? {} : { incomplete_details: details }) },
    )
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
