import type { Part } from '#gen/portico/inference/v1/inference_pb.js'
import { type PartStarted, PartStarted_Kind } from '#gen/portico/inference/v1/inference_service_pb.js'
import { CallItem } from './items/call.ts'
import type { ItemPlace, ItemStatus, OutputItem } from './items/item.ts'
import { MessageItem } from './items/message.ts'
import { PictureItem } from './items/picture.ts'
import { ReasoningItem } from './items/reasoning.ts'

type End = Exclude<ItemStatus, 'in_progress'>

/** The item that is being told. */
interface Live {
  readonly index: number
  readonly item: OutputItem
  ended: boolean
}

/** A part that began before the ones before it had come to their end. */
interface Waiting {
  readonly started: PartStarted
  text: string
  /** Set when it has ended. */
  whole: { readonly part: Part['part'] } | undefined
}

/**
 * The items of a response in the order in which their parts began, told one by one: each is done before the next is added, as
 * clients expect, even where a provider sends the arguments of several calls in turns. What waits is kept as text, which the
 * response holds in the end anyway.
 */
export class ItemQueue {
  readonly #place: Omit<ItemPlace, 'index'>
  readonly #items: OutputItem[] = []
  #live: Live | undefined
  /** By the index of the part, first come first. */
  readonly #waiting = new Map<number, Waiting>()

  constructor(place: Omit<ItemPlace, 'index'>) {
    this.#place = place
  }

  /** Those that were told, or are being told. */
  get items(): readonly OutputItem[] {
    return this.#items
  }

  begin(started: PartStarted): void {
    if (this.#live === undefined) this.#live = this.#open(started)
    else this.#waiting.set(started.index, { started, text: '', whole: undefined })
  }

  extend(index: number, text: string): void {
    if (this.#live?.index === index) {
      if (!this.#live.ended) this.#live.item.extend(text)
      return
    }
    const waiting = this.#waiting.get(index)
    if (waiting !== undefined && waiting.whole === undefined) waiting.text += text
  }

  /** A part is whole. It is told so with what follows it, since only then it is known whether it was cut off. */
  end(index: number, part: Part['part']): void {
    if (this.#live?.index === index) {
      this.#live.item.end(part)
      this.#live.ended = true
      while (this.#live.ended && this.#waiting.size > 0) this.#next('completed')
    } else {
      const waiting = this.#waiting.get(index)
      if (waiting !== undefined) waiting.whole = { part }
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

  /** Closes what is told, and goes on with what waited longest. */
  #next(status: End): void {
    this.#live?.item.close(status)
    this.#live = undefined
    const [first] = this.#waiting
    if (first === undefined) return
    const [index, { started, text, whole }] = first
    this.#waiting.delete(index)
    this.#live = this.#open(started)
    if (text !== '') this.#live.item.extend(text)
    if (whole !== undefined) this.#live.item.end(whole.part)
    this.#live.ended = whole !== undefined
  }

  #open(started: PartStarted): Live {
    const item = itemFor({ ...this.#place, index: this.#items.length }, started)
    this.#items.push(item)
    return { index: started.index, item, ended: false }
  }
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
