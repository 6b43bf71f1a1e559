import type { Part } from '#gen/portico/inference/v1/inference_pb.js'
import type { DeltaPrefix } from '../frames.ts'
import { type ItemPlace, type ItemStatus, itemId, type OutputItem, tellAdded, tellDone } from './item.ts'

/** An output item of type `message`: text, or words of refusal. */
export class MessageItem implements OutputItem {
  readonly #place: ItemPlace
  readonly #refuses: boolean
  readonly #id: string
  /** What tells in OpenAI's schema where the one part of the message is. */
  readonly #at: Readonly<Record<string, unknown>>
  readonly #delta: DeltaPrefix | undefined
  #text = ''
  #begun = false
  #status: ItemStatus = 'in_progress'

  constructor(place: ItemPlace, refuses: boolean) {
    const { frames, responseId, index } = place
    this.#place = place
    this.#refuses = refuses
    this.#id = itemId('msg', place)
    this.#at = { item_id: this.#id, output_index: index, content_index: 0 }
    if (frames === undefined) return
    tellAdded(place, this)
    this.#begun = true
    const where = { response_id: responseId, output_index: index, content_index: 0 }
    frames.shared('response.content_part.added', { ...where, part: this.#part() }, { item_id: this.#id })
    this.#delta = refuses
      ? frames.prefix('response.refusal.delta', this.#at, where)
      : frames.prefix('response.output_text.delta', { ...this.#at, logprobs: [] }, where)
  }

  extend(delta: string): void {
    this.#text += delta
    if (this.#delta !== undefined) this.#place.frames?.delta(this.#delta, delta)
  }

  end(part: Part['part']): void {
    if (part.case === 'text' || part.case === 'refusal') this.#text = part.value.text
  }

  close(status: 'completed' | 'incomplete'): void {
    this.#status = status
    this.#begun = true
    const { frames } = this.#place
    if (frames === undefined) return
    if (this.#refuses) frames.schema('response.refusal.done', { ...this.#at, refusal: this.#text })
    else frames.schema('response.output_text.done', { ...this.#at, text: this.#text, logprobs: [] })
    frames.schema('response.content_part.done', { ...this.#at, part: this.#part() })
    tellDone(this.#place, this)
  }

  toJson(): Readonly<Record<string, unknown>> {
    const content = this.#begun ? [this.#part()] : []
    return { type: 'message', id: this.#id, status: this.#status, role: 'assistant', content }
  }

  /** The words of an answer; a refusal is none. */
  get outputText(): string {
    return this.#refuses ? '' : this.#text
  }

  #part(): Readonly<Record<string, unknown>> {
    if (this.#refuses) return { type: 'refusal', refusal: this.#text }
    return { type: 'output_text', text: this.#text, annotations: [], logprobs: [] }
  }
}
