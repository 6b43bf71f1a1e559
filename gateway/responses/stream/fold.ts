import type { RouterMetadata } from '#gateway/records/router-metadata.ts'
import type { GenerationEvent, GenerationStarted } from '#gen/portico/inference/v1/inference_service_pb.js'
import type { ResponseFailure } from '../failure.ts'
import {
  type EndState,
  endOf,
  type Finished,
  failedState,
  finishedState,
  type ResponseSeed,
  type ResponseState,
  toResponse,
  withPreset,
} from '../from-generation.ts'
import type { ResponseObject } from '../response.ts'
import type { ResponsesFrames, SpecifiedEnd } from './frames.ts'
import { ItemQueue } from './queue.ts'

const IN_PROGRESS: ResponseState = {
  status: 'in_progress',
  completed_at: null,
  error: null,
  incomplete_details: null,
  usage: null,
}

/**
 * Folds the events of a generation into the response object, and writes the events of each step. Its items and its last
 * state are made by the functions that make those of a whole generation.
 */
export class ResponsesFold {
  #seed: ResponseSeed
  readonly #frames: ResponsesFrames
  readonly #seconds: () => number
  readonly #queue: ItemQueue
  #model = ''
  #over = false
  #metadata: RouterMetadata | undefined

  /** `seconds` returns the time since the epoch. */
  constructor(seed: ResponseSeed, frames: ResponsesFrames, seconds: () => number) {
    this.#seed = seed
    this.#frames = frames
    this.#seconds = seconds
    this.#queue = new ItemQueue(seed.id, frames)
  }

  /** Takes events in, in order. */
  add(events: readonly GenerationEvent[]): void {
    for (const { event } of events) {
      if (event.case !== 'finished' && event.case !== 'source') this.#queue.follow()
      switch (event.case) {
        case 'partExtended':
          this.#queue.extend(event.value.index, event.value.text, event.value.logProbabilities)
          break
        case 'started':
          this.#served(event.value)
          break
        case 'partStarted':
          this.#queue.begin(event.value)
          break
        case 'partEnded':
          this.#queue.end(event.value.index, event.value.part)
          break
        case 'source':
          this.#queue.cite(event.value)
          break
        case 'finished':
          this.#finish(event.value)
      }
    }
  }

  /** The generation broke off: what there is stays, cut off. */
  fail(failure: ResponseFailure): void {
    if (this.#over) return
    if (this.#model === '') this.#start(this.#seed.model)
    this.#queue.close('incomplete', 'completed')
    const state = failedState(failure)
    const { status, error, error_type } = state
    this.#end(state, { status, error: error ?? undefined, error_type })
  }

  #served(started: GenerationStarted): void {
    this.#metadata = this.#seed.describe?.(started)
    this.#seed = withPreset(this.#seed, started.preset)
    this.#start(started.model)
  }

  #start(model: string): void {
    this.#model = model
    const { id } = this.#seed
    this.#frames.begin(this.#response(IN_PROGRESS), { id, object: 'response', status: 'in_progress' })
  }

  #finish(finished: Finished): void {
    const status = endOf(finished)
    this.#queue.close(status, status)
    const state = finishedState(finished, this.#seconds(), this.#metadata)
    const { usage, incomplete_details: details } = state
    this.#end(state, { status, usage, incomplete_details: details ?? undefined })
  }

  #end(state: EndState, specified: Omit<SpecifiedEnd, 'id' | 'object'>): void {
    this.#over = true
    this.#frames.end(`response.${state.status}`, this.#response(state), {
      id: this.#seed.id,
      object: 'response',
      ...specified,
    })
  }

  #response(state: ResponseState): ResponseObject {
    return toResponse(this.#seed, this.#model, this.#queue.done, state)
  }
}
