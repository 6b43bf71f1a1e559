import type { Part } from '#gen/portico/inference/v1/inference_pb.js'
import type { DeltaPrefix, ResponsesFrames } from '../frames.ts'
import { type ItemPlace, type ItemStatus, itemId, type OutputItem, tellAdded, tellDone } from './item.ts'

/**
 * An output item of type `reasoning`: a thought, or a summary of one. It is told from its first word on, or at its end when it has
 * none, since only then it is known how the provider calls a thought that is encrypted.
 */
export class ReasoningItem implements OutputItem {
  readonly #place: ItemPlace
  readonly #summarises: boolean
  #id: string
  #delta: DeltaPrefix | undefined
  #text = ''
  #encrypted = ''
  #signature = ''
  #status: ItemStatus = 'in_progress'
  #told = false

  constructor(place: ItemPlace, summarises: boolean) {
    this.#place = place
    this.#summarises = summarises
    this.#id = itemId('rs', place)
  }

  extend(delta: string): void {
    if (!this.#told) this.#tell()
    this.#text += delta
    if (this.#delta !== undefined) this.#place.frames?.delta(this.#delta, delta)
  }

  end(part: Part['part']): void {
    if (part.case !== 'reasoning') return
    const { text, summary, signature, encrypted, id } = part.value
    this.#text = this.#summarises ? summary : text
    this.#encrypted = encrypted
    this.#signature = signature
    if (!this.#told && id !== '') this.#id = id
  }

  close(status: 'completed' | 'incomplete'): void {
    const { frames } = this.#place
    const spoke = this.#delta !== undefined
    if (!this.#told) {
      this.#told = true
      tellAdded(this.#place, this)
    }
    this.#status = status
    if (spoke && frames !== undefined) this.#tellText(frames)
    tellDone(this.#place, this)
  }

  toJson(): Readonly<Record<string, unknown>> {
    // An item in progress is told empty; what it holds follows.
    const whole = this.#status !== 'in_progress'
    const content = whole && !this.#summarises && this.#text !== '' ? [this.#part(this.#text)] : undefined
    return {
      type: 'reasoning',
      id: this.#id,
      summary: whole && this.#summarises && this.#text !== '' ? [this.#part(this.#text)] : [],
      ...(content === undefined ? {} : { content }),
      ...(whole && this.#encrypted !== '' ? { encrypted_content: this.#encrypted } : {}),
      ...(whole && this.#signature !== '' ? { signature: this.#signature } : {}),
      status: this.#status,
    }
  }

  #tell(): void {
    this.#told = true
    const { frames } = this.#place
    if (frames === undefined) return
    tellAdded(this.#place, this)
    const added = { ...this.#at, part: this.#part('') }
    if (this.#summarises) frames.schema('response.reasoning_summary_part.added', added)
    else frames.schema('response.content_part.added', { response_id: this.#place.responseId, ...added })
    const type = this.#summarises ? 'response.reasoning_summary_text.delta' : 'response.reasoning_text.delta'
    this.#delta = frames.prefix(type, this.#at)
  }

  #tellText(frames: ResponsesFrames): void {
    const said = { ...this.#at, text: this.#text }
    const done = { ...this.#at, part: this.#part(this.#text) }
    if (this.#summarises) {
      frames.schema('response.reasoning_summary_text.done', said)
      frames.schema('response.reasoning_summary_part.done', done)
    } else {
      frames.schema('response.reasoning_text.done', said)
      frames.schema('response.content_part.done', done)
    }
  }

  get #at(): Readonly<Record<string, unknown>> {
    const place = { item_id: this.#id, output_index: this.#place.index }
    return this.#summarises ? { ...place, summary_index: 0 } : { ...place, content_index: 0 }
  }

  #part(text: string): Readonly<Record<string, unknown>> {
    return { type: this.#summarises ? 'summary_text' : 'reasoning_text', text }
  }
}
