/** What a broadcast is made from. */
export interface BroadcastOptions<T> {
  /** Pulled when a reader wants more than is buffered. Readers do not get its first item. */
  readonly source: AsyncIterator<T, undefined>
  /**
   * Position of an item in the log. Positions grow, and sort as strings. Undefined: the item is not in the log, and
   * readers that join later do not get it.
   */
  readonly positionOf: (item: T) => string | undefined
  /** Whether items before this one are missing. */
  readonly isGap: (item: T) => boolean
  /** The earlier items that an item makes void; readers that have not reached these do not get them. */
  readonly voids: (item: T) => ((earlier: T) => boolean) | undefined
  /** Number of characters that an item occupies in memory. */
  readonly sizeOf: (item: T) => number
  /** The error that a reader fails with when it has fallen behind. */
  readonly overflow: () => Error
}
