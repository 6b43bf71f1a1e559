import type { Part } from '#gen/portico/inference/v1/inference_pb.js'
import type { ResponsesFrames } from '../frames.ts'

/** How far an output item has come. */
export type ItemStatus = 'in_progress' | 'completed' | 'incomplete'

/** Where an item stands in the output, and where its events go; there are none when the answer is one JSON object. */
export interface ItemPlace {
  readonly responseId: string
  /** Number of the output item, from 0. */
  readonly index: number
  readonly frames: ResponsesFrames | undefined
}

/** One output item while it grows: every part of a generation becomes one. */
export interface OutputItem {
  /** Text to append. */
  extend(delta: string): void
  /** The part is whole: what it holds counts, not what was appended. */
  end(part: Part['part']): void
  /** The item is told as it is, complete or cut off, and grows no more. */
  close(status: 'completed' | 'incomplete'): void
  /** The item as a member of `output`. */
  toJson(): Readonly<Record<string, unknown>>
}

/** Id of an item: the response's, with a prefix of its kind, and its place. */
export function itemId(prefix: 'msg' | 'fc' | 'rs' | 'ig', { responseId, index }: ItemPlace): string {
  return `${prefix}_${responseId.slice('resp_'.length)}_${index}`
}

/** Tells that an item begins. */
export function tellAdded({ responseId, index, frames }: ItemPlace, item: OutputItem): void {
  frames?.shared('response.output_item.added', { response_id: responseId, output_index: index, item: item.toJson() })
}

/** Tells that an item has come to its end. */
export function tellDone({ responseId, index, frames }: ItemPlace, item: OutputItem): void {
  frames?.shared('response.output_item.done', { response_id: responseId, output_index: index, item: item.toJson() })
}
