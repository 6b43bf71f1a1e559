import type { BroadcastOptions } from './broadcast-options.ts'
import { type BroadcastEnd, BroadcastReader, type Readable } from './reader.ts'

/**
 * How many items, and characters of items, may wait for the slowest reader: two of the largest pictures that are read,
 * each with 28 million characters, and what comes between.
 */
const MOST = { items: 4_096, size: 67_108_864 }
/** How many of the items that everybody has read are kept for readers that come back. */
const KEPT = { items: 256, size: 262_144 }

/**
 * One stream for many readers. Each item is pulled once and kept until every reader has it. The source is pulled at the
 * pace of the fastest reader; a reader that is 4,096 items or 64 Mi characters behind fails, so that it holds nobody
 * up. That is the most that is kept, however many readers there are, and only while one is so far behind that has not
 * failed.
 */
export class Broadcast<T> implements Readable<T> {
  readonly options: BroadcastOptions<T>
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
  #end: BroadcastEnd | undefined
  #pulling = false

  constructor(options: BroadcastOptions<T>) {
    this.options = options
  }

  /** Begins after a position, which is the one in the first item of the source. */
  begin(position: string): void {
    this.#floor = { position, number: this.end }
    this.#last = position
  }

  /** Position of the newest item that has one. */
  get last(): string {
    return this.#last
  }

  /** Number of the item that comes next. */
  get end(): number {
    return this.#start + this.#items.length
  }

  /** How it ended; undefined while it continues. */
  get over(): BroadcastEnd | undefined {
    return this.#end
  }

  get readers(): number {
    return this.#readers.size
  }

  /** The buffered items. */
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
    return position === this.#floor.position || position === this.#last || this.#after(position).known
  }

  /** Reads from a covered position, or from now on. Buffered items without a position are not for this reader. */
  read(after?: string, wants: (item: T) => boolean = () => true): BroadcastReader<T> {
    const number = after === undefined ? this.end : this.#after(after).number
    const reader = new BroadcastReader(this, { number, after: after ?? '', liveFrom: this.end, wants })
    this.#readers.add(reader)
    return reader
  }

  /** The item with a number; undefined if it has not come yet. */
  at(number: number): T | undefined {
    return this.#items[number - this.#start]
  }

  isVoid(number: number): boolean {
    return this.#void.has(number)
  }

  /** Whether the item with a number was dropped. */
  isBehind(number: number): boolean {
    return number < this.#start
  }

  /** Registers a reader for the next item, or for the end. */
  wait(reader: BroadcastReader<T>): void {
    this.#waiting.add(reader)
    this.#pull()
  }

  leave(reader: BroadcastReader<T>): void {
    this.#readers.delete(reader)
    this.#waiting.delete(reader)
  }

  /** Ends it for every reader that has read what is buffered. */
  finish(end: BroadcastEnd): void {
    if (this.#end !== undefined) return
    this.#end = end
    const waiting = this.#waiting
    this.#waiting = new Set()
    for (const reader of waiting) reader.finish(end)
  }

  #pull(): void {
    if (this.#pulling || this.#end !== undefined) return
    this.#pulling = true
    const pulled = this.options.source.next().then((result) => {
      this.#pulling = false
      if (result.done === true) this.finish({})
      else this.#push(result.value)
    })
    pulled.catch((error: unknown) => this.finish({ error }))
  }

  #push(item: T): void {
    const { positionOf, isGap, sizeOf, voids } = this.options
    const number = this.end
    const isVoid = voids(item)
    if (isVoid !== undefined) {
      for (const [i, earlier] of this.#items.entries()) if (isVoid(earlier)) this.#void.add(this.#start + i)
    }
    const position = positionOf(item)
    this.#items.push(item)
    this.#size += sizeOf(item)
    if (isGap(item)) this.#floor = undefined
    else if (position !== undefined) {
      this.#floor ??= { position, number: number + 1 }
      this.#last = position
    }
    const waiting = this.#waiting
    this.#waiting = new Set()
    for (const reader of waiting) if (!reader.offer(item, position, number)) this.#waiting.add(reader)
    this.#trim()
    if (this.#waiting.size > 0) this.#pull()
  }

  /** Drops what exceeds the limits, and of the items that everybody has read all but the newest. */
  #trim(): void {
    this.#drop(MOST, this.end - 1)
    if (this.#items.length <= 2 * KEPT.items && this.#size <= 2 * KEPT.size) return
    let taken = this.end - 1
    for (const { number } of this.#readers) if (!this.isBehind(number)) taken = Math.min(taken, number)
    this.#drop(KEPT, taken)
  }

  /**
   * Drops items until at most `items` (of at most `size` characters) are left, or until it reaches the item `before`.
   */
  #drop({ items, size }: typeof MOST, before: number): void {
    let count = 0
    while (this.#start + count < before && (this.#items.length - count > items || this.#size > size)) {
      this.#void.delete(this.#start + count)
      const item = this.#items[count++] as T
      this.#size -= this.options.sizeOf(item)
      const position = this.options.positionOf(item)
      const floor = this.#floor
      if (floor !== undefined && position !== undefined && floor.position < position) {
        this.#floor = { position, number: this.#start + count }
      }
    }
    if (count > 0) this.#items.splice(0, count)
    this.#start += count
  }

  /** Number of the first item after a position, and whether the item before it has exactly that position. */
  #after(position: string): { readonly number: number; readonly known: boolean } {
    let number = Math.max(this.#floor?.number ?? this.end, this.#start)
    let known = false
    for (let n = number; n < this.end; n++) {
      const at = this.options.positionOf(this.at(n) as T)
      if (at === undefined) continue
      if (at > position) break
      number = n + 1
      known = at === position
    }
    return { number, known }
  }
}
