import type { Part } from '#gen/portico/inference/v1/inference_pb.js'
import { type ItemPlace, itemId, type OutputItem, tellAdded, tellDone } from './item.ts'

/** An output item of type `image_generation_call`: a picture that the model made. It comes whole. */
export class PictureItem implements OutputItem {
  readonly #place: ItemPlace
  readonly #id: string
  #result: string | null = null
  #status: 'in_progress' | 'completed' | 'failed' = 'in_progress'

  constructor(place: ItemPlace) {
    this.#place = place
    this.#id = itemId('ig', place)
    tellAdded(place, this)
  }

  extend(): void {}

  end(part: Part['part']): void {
    if (part.case !== 'image') return
    const { source } = part.value
    if (source.case === 'url') this.#result = source.value
    else if (source.case === 'data') {
      const { buffer, byteOffset, byteLength } = source.value
      this.#result = Buffer.from(buffer, byteOffset, byteLength).toString('base64')
    }
  }

  close(status: 'completed' | 'incomplete'): void {
    this.#status = status === 'completed' ? 'completed' : 'failed'
    tellDone(this.#place, this)
  }

  toJson(): Readonly<Record<string, unknown>> {
    return { type: 'image_generation_call', id: this.#id, result: this.#result, status: this.#status }
  }
}
