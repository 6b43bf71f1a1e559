/** How a broadcast has ended. */
export interface BroadcastEnd {
  readonly error?: unknown
}

/** What a reader reads from; see `Broadcast`. */
export interface Readable<T> {
  readonly options: { readonly positionOf: (item: T) => string | undefined; readonly overflow: () => Error }
  readonly over: BroadcastEnd | undefined
  at(number: number): T | undefined
  isBehind(number: number): boolean
  isVoid(number: number): boolean
  wait(reader: BroadcastReader<T>): void
  leave(reader: BroadcastReader<T>): void
}

/** Where a reader begins, and what it wants. */
interface Start<T> {
  /** Number of the next item. */
  readonly number: number
  /** Items at or before this position are skipped. */
  readonly after: string
  /** Items without a position are delivered from this number on. */
  readonly liveFrom: number
  readonly wants: (item: T) => boolean
}

/** One of the readers of a broadcast. Whoever stops reading must call `return`. */
export class BroadcastReader<T> implements AsyncIterableIterator<T, undefined> {
  readonly #broadcast: Readable<T>
  readonly #start: Start<T>
  #number: number
  #waiting: PromiseWithResolvers<IteratorResult<T, undefined>> | undefined
  #left = false

  constructor(broadcast: Readable<T>, start: Start<T>) {
    this.#broadcast = broadcast
    this.#start = start
    this.#number = start.number
  }

  /** Number of the next item. */
  get number(): number {
    return this.#number
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  next(): Promise<IteratorResult<T, undefined>> {
    const broadcast = this.#broadcast
    if (this.#left) return Promise.resolve({ done: true, value: undefined })
    if (broadcast.isBehind(this.#number)) return Promise.reject(broadcast.options.overflow())
    for (let item = broadcast.at(this.#number); item !== undefined; item = broadcast.at(this.#number)) {
      const number = this.#number++
      if (!broadcast.isVoid(number) && this.#takes(item, broadcast.options.positionOf(item), number))
        return Promise.resolve({ done: false, value: item })
    }
    const { over } = broadcast
    this.#waiting = Promise.withResolvers()
    const { promise } = this.#waiting
    if (over === undefined) broadcast.wait(this)
    else this.finish(over)
    return promise
  }

  /** Stops reading. */
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
  offer(item: T, position: string | undefined, number: number): boolean {
    this.#number = number + 1
    if (!this.#takes(item, position, number)) return false
    const waiting = this.#waiting
    this.#waiting = undefined
    waiting?.resolve({ done: false, value: item })
    return true
  }

  /** Ends the reader while it waits. */
  finish(end: BroadcastEnd): void {
    const waiting = this.#waiting
    this.#waiting = undefined
    if ('error' in end) waiting?.reject(end.error)
    else waiting?.resolve({ done: true, value: undefined })
  }

  #takes(item: T, position: string | undefined, number: number): boolean {
    const { after, liveFrom, wants } = this.#start
    if (position === undefined ? number < liveFrom : position <= after) return false
    return wants(item)
  }
}
