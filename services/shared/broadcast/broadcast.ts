import { Rejection } from '#shared/rejection.ts'

/** A number of items, and of characters in them. */
interface Limits {
  readonly items: number
  readonly size: number
}

/** What a broadcast is made from. */
export interface BroadcastOptions<T> {
  /** Where items come from; pulled while a reader waits. Without it, items are pushed. */
  readonly source?: AsyncIterator<T, undefined>
  /** Whether the source is also pulled while nobody waits. */
  readonly isEager?: boolean
  /**
   * Position of an item in the log. Positions grow, and sort as strings. Undefined: the item is not in the log, and
   * readers that join later do not get it.
   */
  readonly positionOf?: (item: T) => string | undefined
  /** Whether items before this one are missing. */
  readonly isGap?: (item: T) => boolean
  /** The earlier items that an item makes void; readers that have not reached these do not get them. */
  readonly voids?: (item: T) => ((earlier: T) => boolean) | undefined
  /** Number of characters that an item occupies in memory. */
  readonly sizeOf?: (item: T) => number
  /** How much may wait for the slowest reader. */
  readonly most?: Limits
  /** How much of what everybody has read is kept for readers that come back. */
  readonly kept?: Limits
  /** Called when nobody uses the stream any more, to release what the source holds. */
  readonly close?: () => void
}

/** Two of the largest pictures that are read, each with 28 million characters, and what comes between. */
const MOST: Limits = { items: 4_096, size: 67_108_864 }
const KEPT: Limits = { items: 256, size: 262_144 }

/**
 * One stream for many readers. Each item is pulled once and kept until every reader has it. The source is pulled at the
 * pace of the fastest reader; a reader that is 4,096 items or 64 Mi characters behind fails with EVENTS_OVERFLOWED, so
 * that it holds nobody up. That is the most that is kept, however many readers there are, and only while one is so far
 * behind that has not failed.
 */
export class Broadcast<T> {
  /** Resolves when the first item has come; rejects if the source fails before. */
  readonly opened: Promise<void>
  readonly #options: BroadcastOptions<T>
  readonly #readers = new Set<BroadcastReader<T>>()
  #waiting = new Set<BroadcastReader<T>>()
  readonly #items: T[] = []
  /** Numbers of items that are void. */
  readonly #void = new Set<number>()
  /** Number of the first item. */
  #start = 0
  #size = 0
  /** From this number on, everything after this position is buffered. Undefined after a gap. */
  #floor: { readonly position: string; readonly number: number } | undefined
  #last = ''
  #end: { readonly error?: unknown } | undefined
  #pulling = false
  #uses = 0

  constructor(options: BroadcastOptions<T>) {
    this.#options = options
    this.opened = this.#pull()
    this.opened.catch(() => {})
  }

  /** Position of the newest item that has one. */
  get last(): string {
    return this.#last
  }

  /** Number of the item that comes next. */
  get end(): number {
    return this.#start + this.#items.length
  }

  /** Whether it has ended or failed. */
  get isOver(): boolean {
    return this.#end !== undefined
  }

  get items(): readonly T[] {
    return this.#items
  }

  /** Whether everything after a position is buffered or will come. */
  covers(position: string): boolean {
    return this.#floor !== undefined && this.#floor.position <= position
  }

  /** Whether a buffered item has exactly that position, or the stream began there. */
  knows(position: string): boolean {
    if (this.#floor === undefined || position < this.#floor.position) return false
    return position === this.#floor.position || position === this.#last || this.#after(position).isExact
  }

  /** Keeps it open until the returned function is called; the last of these calls closes it. */
  use(): () => void {
    this.#uses++
    let isOpen = true
    return () => {
      if (isOpen && --this.#uses === 0) {
        this.#options.close?.()
        this.#finish({})
      }
      isOpen = false
    }
  }

  /** Reads from a covered position, or from now on. Buffered items without a position are not for this reader. */
  read(after?: string, wants: (item: T) => boolean = () => true): BroadcastReader<T> {
    const number = after === undefined ? this.end : this.#after(after).number
    const { end } = this
    const takes = (item: T, at: number): boolean => {
      const position = this.#options.positionOf?.(item)
      const isNew = position === undefined ? at >= end : position > (after ?? '')
      return isNew && !this.#void.has(at) && wants(item)
    }
    const reader = new BroadcastReader(this, number, takes)
    this.#readers.add(reader)
    return reader
  }

  /** The item with a number; undefined if it has not come yet. */
  at(number: number): T | undefined {
    return this.#items[number - this.#start]
  }

  /** Whether the item with a number was dropped. */
  isBehind(number: number): boolean {
    return number < this.#start
  }

  /** Registers a reader for the next item, or for the end. */
  wait(reader: BroadcastReader<T>): void {
    if (this.#end === undefined) {
      this.#waiting.add(reader)
      this.#pullMore()
    } else reader.finish(this.#end)
  }

  leave(reader: BroadcastReader<T>): void {
    this.#readers.delete(reader)
    this.#waiting.delete(reader)
  }

  push(item: T): void {
    const { positionOf, isGap, voids, sizeOf } = this.#options
    const number = this.end
    const isVoid = voids?.(item)
    if (isVoid !== undefined) {
      for (const [i, earlier] of this.#items.entries()) if (isVoid(earlier)) this.#void.add(this.#start + i)
    }
    this.#items.push(item)
    this.#size += sizeOf?.(item) ?? 0
    if (isGap?.(item) === true) this.#floor = undefined
    const position = positionOf?.(item)
    if (position !== undefined) {
      this.#floor ??= { position, number: number + 1 }
      this.#last = position
    }
    const waiting = this.#waiting
    this.#waiting = new Set()
    for (const reader of waiting) if (!reader.offer(item, number)) this.#waiting.add(reader)
    this.#trim()
  }

  /** Ends it for every reader that has read what is buffered. */
  #finish(end: { readonly error?: unknown }): void {
    if (this.#end !== undefined) return
    this.#end = end
    const waiting = this.#waiting
    this.#waiting = new Set()
    for (const reader of waiting) reader.finish(end)
    this.#options.source?.return?.().catch(() => {})
  }

  #pullMore(): void {
    this.#pull().catch(() => {})
  }

  async #pull(): Promise<void> {
    const { source, isEager = false } = this.#options
    if (source === undefined || this.#pulling || this.#end !== undefined) return
    this.#pulling = true
    try {
      const result = await source.next()
      this.#pulling = false
      if (this.#end !== undefined) return
      if (result.done === true) this.#finish({})
      else this.push(result.value)
    } catch (error) {
      this.#finish({ error })
      throw error
    }
    if (isEager || this.#waiting.size > 0) this.#pullMore()
  }

  /** Drops what exceeds the limits, and of the items that everybody has read all but the newest. */
  #trim(): void {
    const { most = MOST, kept = KEPT } = this.#options
    this.#drop(most, this.end - 1)
    if (this.#items.length <= 2 * kept.items && this.#size <= 2 * kept.size) return
    let taken = this.end - 1
    for (const { number } of this.#readers) if (!this.isBehind(number)) taken = Math.min(taken, number)
    this.#drop(kept, taken)
  }

  /**
   * Drops items until at most `items` (of at most `size` characters) are left, or until it reaches the item `before`.
   */
  #drop({ items, size }: Limits, before: number): void {
    const { positionOf, sizeOf } = this.#options
    let count = 0
    while (this.#start + count < before && (this.#items.length - count > items || this.#size > size)) {
      this.#void.delete(this.#start + count)
      const item = this.#items[count++] as T
      this.#size -= sizeOf?.(item) ?? 0
      const position = positionOf?.(item)
      const floor = this.#floor
      if (floor !== undefined && position !== undefined && floor.position < position) {
        this.#floor = { position, number: this.#start + count }
      }
    }
    if (count > 0) this.#items.splice(0, count)
    this.#start += count
  }

  /** Number of the first item after a position, and whether the item before it has exactly that position. */
  #after(position: string): { readonly number: number; readonly isExact: boolean } {
    let number = Math.max(this.#floor?.number ?? this.end, this.#start)
    let isExact = false
    for (let n = number; n < this.end; n++) {
      const at = this.#options.positionOf?.(this.at(n) as T)
      if (at === undefined) continue
      if (at > position) break
      number = n + 1
      isExact = at === position
    }
    return { number, isExact }
  }
}

/** One of the readers of a broadcast. Whoever stops reading must call `leave` or `return`. */
export class BroadcastReader<T> implements AsyncIterableIterator<T, undefined> {
  readonly #broadcast: Broadcast<T>
  readonly #takes: (item: T, number: number) => boolean
  #number: number
  #waiting: PromiseWithResolvers<IteratorResult<T, undefined>> | undefined
  #left = false

  constructor(broadcast: Broadcast<T>, number: number, takes: (item: T, number: number) => boolean) {
    this.#broadcast = broadcast
    this.#number = number
    this.#takes = takes
  }

  /** Number of the next item. */
  get number(): number {
    return this.#number
  }

  /** Whether it has fallen so far behind that it can't go on. */
  get isBehind(): boolean {
    return this.#broadcast.isBehind(this.#number)
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  /** The buffered items from the next one on, also those that it does not want. */
  ahead(count: number): T[] {
    const items = Array.from({ length: count }, (_, i) => this.#broadcast.at(this.#number + i))
    return items.filter((item) => item !== undefined)
  }

  /** The next item, if it is buffered. */
  take(): T | undefined {
    if (this.isBehind) throw new Rejection('EVENTS_OVERFLOWED')
    for (let item = this.#broadcast.at(this.#number); item !== undefined; item = this.#broadcast.at(this.#number)) {
      if (this.#takes(item, this.#number++)) return item
    }
    return undefined
  }

  next(): Promise<IteratorResult<T, undefined>> {
    if (this.#left) return Promise.resolve({ done: true, value: undefined })
    if (this.isBehind) return Promise.reject(new Rejection('EVENTS_OVERFLOWED'))
    const item = this.take()
    if (item !== undefined) return Promise.resolve({ done: false, value: item })
    this.#waiting = Promise.withResolvers()
    const { promise } = this.#waiting
    this.#broadcast.wait(this)
    return promise
  }

  async return(): Promise<IteratorResult<T, undefined>> {
    this.leave()
    return { done: true, value: undefined }
  }

  leave(): void {
    if (this.#left) return
    this.#left = true
    this.#broadcast.leave(this)
    this.finish({})
  }

  /**
   * Offers it the next item while it waits. Returns false if the item is not for this reader, which then keeps waiting.
   */
  offer(item: T, number: number): boolean {
    this.#number = number + 1
    if (!this.#takes(item, number)) return false
    const waiting = this.#waiting
    this.#waiting = undefined
    waiting?.resolve({ done: false, value: item })
    return true
  }

  /** Ends the reader while it waits. */
  finish(end: { readonly error?: unknown }): void {
    const waiting = this.#waiting
    this.#waiting = undefined
    if ('error' in end) waiting?.reject(end.error)
    else waiting?.resolve({ done: true, value: undefined })
  }
}
