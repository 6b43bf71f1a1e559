import type { RouterMetadata } from '#gateway/records/router-metadata.ts'
import type { Part, Source } from '#gen/portico/inference/v1/inference_pb.js'
import {
  type GenerationEvent,
  type GenerationStarted,
  PartStarted_Kind as Kind,
  type PartStarted,
} from '#gen/portico/inference/v1/inference_service_pb.js'
import type { ContentBlock } from '../answer.ts'
import { besidesOf as besidesOfMessage, endOf, fromUsage, type MessageSeed, toMessage } from '../from-generation.ts'
import { beginningOf, besidesOf, endingOf, fromPart, growthOf, proofOf } from '../from-part.ts'
import type { DeltaPrefix, MessageFrames } from './frames.ts'

/** A part on its way, in the order in which parts began. */
interface Coming {
  readonly started: PartStarted
  readonly sources: Source[]
  /** The text that arrived before its turn. */
  waiting: string
  /** Set when it has ended. */
  whole: Part | undefined
}

interface Live extends Coming {
  /** Undefined: the block has not begun. */
  prefix: DeltaPrefix | undefined
}

/**
 * Folds the events of a generation into those of a message. Blocks are streamed one by one, as clients expect, even
 * where a provider sends the arguments of several calls in turns; they are made by the function that makes those of a
 * whole generation.
 */
export class MessagesFold {
  readonly #seed: MessageSeed
  readonly #frames: MessageFrames
  readonly #metadata: (started: GenerationStarted) => RouterMetadata | undefined
  readonly #waiting = new Map<number, Coming>()
  #live: Live | undefined
  /** Number of the block that is streamed, or comes next. */
  #block = 0
  #served: RouterMetadata | undefined
  #over = false

  /** `metadata`: what the last event says of how the request was served; undefined: nothing. */
  constructor(
    seed: MessageSeed,
    frames: MessageFrames,
    metadata: (started: GenerationStarted) => RouterMetadata | undefined,
  ) {
    this.#seed = seed
    this.#frames = frames
    this.#metadata = metadata
  }

  /** Takes events in, in order. */
  add(events: readonly GenerationEvent[]): void {
    for (const { event } of events) {
      // Sources may come after the text that rests on them.
      if (event.case !== 'source' && this.#live?.whole !== undefined) this.#next()
      switch (event.case) {
        case 'partExtended':
          this.#extend(event.value.index, event.value.text)
          break
        case 'started':
          this.#served = this.#metadata(event.value)
          this.#frames.begin(toMessage(this.#seed, event.value))
          break
        case 'partStarted':
          this.#begin({ started: event.value, sources: [], waiting: '', whole: undefined })
          break
        case 'partEnded':
          this.#end(event.value.index, event.value.part)
          break
        case 'source':
          this.#find(event.value.partIndex)?.sources.push(event.value)
          break
        case 'finished':
          this.#over = true
          while (this.#live !== undefined) this.#next()
          this.#frames.end(
            { ...besidesOfMessage(event.value), delta: endOf(event.value), usage: fromUsage(this.#seed, event.value) },
            this.#served,
          )
      }
    }
  }

  /** The generation broke off; `body` says why. */
  fail(body: object): void {
    if (this.#over) return
    this.#over = true
    this.#frames.fail(body)
  }

  #find(index: number): Coming | undefined {
    return this.#live?.started.index === index ? this.#live : this.#waiting.get(index)
  }

  #begin(coming: Coming): void {
    if (this.#live !== undefined) {
      this.#waiting.set(coming.started.index, coming)
      return
    }
    const live: Live = { ...coming, prefix: undefined }
    this.#live = live
    // The name of a call's tool is known before its arguments.
    if (live.started.kind === Kind.TOOL_CALL && !live.started.toolCall?.custom) this.#open(live)
    if (live.waiting !== '') this.#grow(live, live.waiting)
  }

  #extend(index: number, text: string): void {
    const live = this.#live
    if (live?.started.index === index) this.#grow(live, text)
    else {
      const waiting = this.#waiting.get(index)
      if (waiting !== undefined) waiting.waiting += text
    }
  }

  #grow(live: Live, text: string): void {
    // The text of a custom call is no JSON until it is whole.
    if (text === '' || live.started.toolCall?.custom) return
    this.#frames.grow(live.prefix ?? this.#open(live), text)
  }

  #end(index: number, part: Part | undefined): void {
    const coming = this.#find(index)
    if (coming === undefined || part === undefined) return
    coming.whole = part
    while (this.#live?.whole !== undefined && this.#waiting.size > 0) this.#next()
  }

  #open(live: Live): DeltaPrefix {
    const { kind } = live.started
    live.prefix = this.#frames.prefix(this.#block, GROWING[kind] ?? 'text')
    const beginning = BEGINNINGS[kind]?.(live.started) ?? EMPTY_TEXT
    this.#frames.start(this.#block, beginningOf({ ...besidesOf(live.started.providerMetadata), ...beginning }))
    return live.prefix
  }

  /** Ends the block that is being streamed, and continues with the one that has waited longest. */
  #next(): void {
    if (this.#live !== undefined) this.#close(this.#live)
    this.#live = undefined
    const [first] = this.#waiting
    if (first === undefined) return
    this.#waiting.delete(first[0])
    this.#begin(first[1])
  }

  #close({ prefix, whole, sources }: Live): void {
    const block = whole && fromPart(whole, sources)
    const index = this.#block
    if (prefix === undefined) {
      if (block === undefined) return
      this.#frames.start(index, beginningOf(block))
      const growth = growthOf(block)
      if (growth !== undefined) this.#frames.delta(index, growth)
    }
    if (block !== undefined) for (const delta of endingOf(block)) this.#frames.delta(index, delta)
    this.#frames.stop(index)
    this.#block++
  }
}

const EMPTY_TEXT: ContentBlock = { type: 'text', text: '' }
const EMPTY_THOUGHT: ContentBlock = { type: 'thinking', thinking: '', signature: '' }

/** The initial blocks of parts that are streamed; the others are sent whole. */
const BEGINNINGS: { readonly [kind in Kind]?: (started: PartStarted) => ContentBlock } = {
  [Kind.REASONING]: () => EMPTY_THOUGHT,
  [Kind.REASONING_SUMMARY]: () => EMPTY_THOUGHT,
  [Kind.TOOL_CALL]: ({ toolCall }) => {
    const { callId: id = '', name = '' } = toolCall ?? {}
    return { type: 'tool_use', id, name, input: {}, ...proofOf(toolCall ?? {}) }
  },
}
const GROWING: { readonly [kind in Kind]?: 'thinking' | 'json' } = {
  [Kind.REASONING]: 'thinking',
  [Kind.REASONING_SUMMARY]: 'thinking',
  [Kind.TOOL_CALL]: 'json',
}
