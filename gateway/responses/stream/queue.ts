import type { LogProbability, Part, Source } from '#gen/portico/inference/v1/inference_pb.js'
import type { PartStarted } from '#gen/portico/inference/v1/inference_service_pb.js'
import type { OutputItem } from '../output.ts'
import type { ResponsesFrames } from './frames.ts'
import { LiveItem } from './live-item.ts'

type End = 'completed' | 'incomplete'

/** A part that began before the ones before it had come to their end. */
interface Waiting {
  readonly started: PartStarted
  readonly sources: Source[]
  readonly tokens: LogProbability[]
  text: string
  /** Set when it has ended. */
  ended: { readonly part: Part | undefined } | undefined
}

/**
 * The items of a response in the order in which their parts began, streamed one by one: each is done before the next is
 * added, as clients expect, even where a provider sends the arguments of several calls in turns. Waiting items are kept
 * as text, which the final response contains anyway.
 */
export class ItemQueue {
  readonly #responseId: string
  readonly #frames: ResponsesFrames
  readonly #done: OutputItem[] = []
  #live: LiveItem | undefined
  /** By the index of the part, first come first. */
  readonly #waiting = new Map<number, Waiting>()

  constructor(responseId: string, frames: ResponsesFrames) {
    this.#responseId = responseId
    this.#frames = frames
  }

  get done(): OutputItem[] {
    return this.#done
  }

  begin(started: PartStarted): void {
    if (this.#live === undefined) this.#live = this.#open(started)
    else this.#waiting.set(started.index, { started, sources: [], tokens: [], text: '', ended: undefined })
  }

  extend(index: number, text: string, tokens: readonly LogProbability[]): void {
    if (this.#live?.index === index) {
      if (!this.#live.ended) this.#live.extend(text, tokens)
      return
    }
    const waiting = this.#waiting.get(index)
    if (waiting === undefined || waiting.ended !== undefined) return
    waiting.text += text
    for (const token of tokens) waiting.tokens.push(token)
  }

  /** The model named a source. */
  cite(source: Source): void {
    if (this.#live?.index === source.partIndex) this.#live.cite(source)
    else this.#waiting.get(source.partIndex)?.sources.push(source)
  }

  /** A part is complete. It is closed once something follows, since only then is it known whether it was cut off. */
  end(index: number, part: Part | undefined): void {
    if (this.#live?.index === index) {
      this.#live.end(part)
      while (this.#live.ended && this.#waiting.size > 0) this.#next('completed')
    } else {
      const waiting = this.#waiting.get(index)
      if (waiting !== undefined) waiting.ended = { part }
    }
  }

  /** The generation goes on: what has ended was not cut off. */
  follow(): void {
    if (this.#live?.ended === true) this.#next('completed')
  }

  /** Nothing more comes. `open`: how parts are closed that have not ended; `last`: how the last one is, if it has. */
  close(open: End, last: End): void {
    while (this.#live !== undefined) this.#next(!this.#live.ended ? open : this.#waiting.size > 0 ? 'completed' : last)
  }

  /** Closes the item that is streamed, and goes on with what waited longest. */
  #next(status: End): void {
    if (this.#live !== undefined) this.#done.push(this.#live.close(status))
    this.#live = undefined
    const [first] = this.#waiting
    if (first === undefined) return
    const [index, { started, sources, tokens, text, ended }] = first
    this.#waiting.delete(index)
    this.#live = this.#open(started)
    if (text !== '') this.#live.extend(text, tokens)
    for (const source of sources) this.#live.cite(source)
    if (ended !== undefined) this.#live.end(ended.part)
  }

  #open(started: PartStarted): LiveItem {
    return new LiveItem({ responseId: this.#responseId, index: this.#done.length }, started, this.#frames)
  }
}
