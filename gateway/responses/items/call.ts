import type { Part } from '#gen/portico/inference/v1/inference_pb.js'
import type { PartStarted } from '#gen/portico/inference/v1/inference_service_pb.js'
import type { DeltaPrefix } from '../frames.ts'
import { type ItemPlace, type ItemStatus, itemId, type OutputItem, tellAdded, tellDone } from './item.ts'

/** An output item of type `function_call`. */
export class CallItem implements OutputItem {
  readonly #place: ItemPlace
  readonly #id: string
  readonly #callId: string
  readonly #name: string
  readonly #delta: DeltaPrefix | undefined
  #arguments = ''
  #status: ItemStatus = 'in_progress'

  constructor(place: ItemPlace, { callId, toolName }: PartStarted) {
    this.#place = place
    this.#id = itemId('fc', place)
    this.#callId = callId
    this.#name = toolName
    tellAdded(place, this)
    this.#delta = place.frames?.prefix('response.function_call_arguments.delta', this.#at)
  }

  extend(delta: string): void {
    this.#arguments += delta
    if (this.#delta !== undefined) this.#place.frames?.delta(this.#delta, delta)
  }

  end(part: Part['part']): void {
    if (part.case === 'toolCall') this.#arguments = part.value.arguments
  }

  close(status: 'completed' | 'incomplete'): void {
    this.#status = status
    const done = { ...this.#at, name: this.#name, arguments: this.#arguments }
    this.#place.frames?.schema('response.function_call_arguments.done', done)
    tellDone(this.#place, this)
  }

  toJson(): Readonly<Record<string, unknown>> {
    return {
      type: 'function_call',
      id: this.#id,
      call_id: this.#callId,
      name: this.#name,
      arguments: this.#arguments,
      status: this.#status,
    }
  }

  get #at(): Readonly<Record<string, unknown>> {
    return { item_id: this.#id, output_index: this.#place.index }
  }
}
