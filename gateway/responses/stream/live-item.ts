import { create } from '@bufbuild/protobuf'
import { type LogProbability, type Part, PartSchema, type Source } from '#gen/portico/inference/v1/inference_pb.js'
import { PartStarted_Kind as Kind, type PartStarted } from '#gen/portico/inference/v1/inference_service_pb.js'
import { fromPart, fromToken, type ItemPlace } from '../from-part.ts'
import type { OutputItem } from '../output.ts'
import type { DeltaPrefix, ResponsesFrames } from './frames.ts'
import { NARRATORS, type Narrator } from './narrators.ts'

/** The output item that is being streamed: its events are written as the part of the generation grows. */
export class LiveItem {
  readonly #place: ItemPlace
  readonly #started: PartStarted
  readonly #frames: ResponsesFrames
  readonly #narrator: Narrator
  #delta: DeltaPrefix | undefined
  #item: OutputItem | undefined
  readonly #sources: Source[] = []
  readonly #tokens: LogProbability[] = []
  #text = ''
  #whole: Part | undefined
  #added = false
  #ended = false

  constructor(place: ItemPlace, started: PartStarted, frames: ResponsesFrames) {
    this.#place = place
    this.#started = started
    this.#frames = frames
    this.#narrator = NARRATORS[started.kind] ?? unknownKind(started.kind)
    // The provider's id of a thought without words, and the content of a foreign item, are only known at the end.
    if (!comesWhole(started.kind)) this.#begin()
  }

  /** Number of the part. */
  get index(): number {
    return this.#started.index
  }

  /** Whether the part is whole. */
  get ended(): boolean {
    return this.#ended
  }

  /** The part grew. */
  extend(text: string, tokens: readonly LogProbability[] = []): void {
    if (!this.#added && text !== '') this.#begin()
    this.#text += text
    if (tokens.length > 0 && this.#item !== undefined && this.#narrator.tokens !== undefined) {
      for (const token of tokens) this.#tokens.push(token)
      this.#narrator.tokens(this.#frames, this.#place, this.#item, text, tokens.map(fromToken))
    } else if (this.#delta !== undefined) this.#frames.delta(this.#delta, text)
  }

  /** The part is complete: its content counts, not what was streamed. */
  end(part: Part | undefined): void {
    this.#ended = true
    if (part?.part.case !== undefined) this.#whole = part
  }

  /** The model named a source. */
  cite(source: Source): void {
    this.#sources.push(source)
  }

  /** Writes the end of the item, and returns the item. */
  close(status: 'completed' | 'incomplete'): OutputItem {
    const part = this.#whole ?? partSoFar(this.#started, this.#text)
    if (!this.#added) this.#add(part)
    const item = fromPart(this.#place, part, status, { sources: this.#sources, tokens: this.#tokens })
    if (this.#delta !== undefined || this.#started.kind === Kind.FOREIGN || this.#started.kind === Kind.IMAGE)
      this.#narrator.end(this.#frames, this.#place, item)
    this.#frames.shared('response.output_item.done', this.#members(item))
    return item
  }

  #begin(): void {
    const item = this.#add(partSoFar(this.#started, ''))
    this.#item = item
    this.#delta = this.#narrator.begin(this.#frames, this.#place, item)
  }

  #add(part: Part): OutputItem {
    this.#added = true
    const item = fromPart(this.#place, part, 'in_progress')
    this.#frames.shared('response.output_item.added', this.#members(item))
    return item
  }

  #members(item: OutputItem) {
    const { responseId, index } = this.#place
    return { response_id: responseId, output_index: index, item }
  }
}

function comesWhole(kind: Kind): boolean {
  return kind === Kind.REASONING || kind === Kind.REASONING_SUMMARY || kind === Kind.FOREIGN
}

/** What there is of a part that has not ended. */
function partSoFar(started: PartStarted, text: string): Part {
  const { kind, toolCall, phase } = started
  const words = { text, phase }
  switch (kind) {
    case Kind.REFUSAL:
      return create(PartSchema, { part: { case: 'refusal', value: words } })
    case Kind.REASONING:
      return create(PartSchema, { part: { case: 'reasoning', value: { text } } })
    case Kind.REASONING_SUMMARY:
      return create(PartSchema, { part: { case: 'reasoning', value: { summary: text } } })
    case Kind.TOOL_CALL: {
      const { callId, name, custom, namespace } = toolCall ?? {}
      const value = { callId, name, arguments: text, custom, namespace }
      return create(PartSchema, { part: { case: 'toolCall', value } })
    }
    case Kind.FOREIGN:
      return create(PartSchema, { part: { case: 'foreign', value: {} } })
    case Kind.IMAGE:
      return create(PartSchema, { part: { case: 'image', value: {} } })
    default:
      return create(PartSchema, { part: { case: 'text', value: words } })
  }
}

function unknownKind(kind: Kind): never {
  throw new Error(`A part of the kind ${kind} cannot be represented in a response`)
}
