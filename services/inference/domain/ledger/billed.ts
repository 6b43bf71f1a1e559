/** What a provider bills, besides tokens at their plain price. Undefined members: nothing. */
export interface Billed {
  /** Tokens written to a cache that keeps them for an hour. */
  readonly longCacheWriteTokens?: bigint | undefined
  /** Web searches by its own tool. */
  readonly webSearches?: bigint | undefined
  /** File searches by its own tool. */
  readonly fileSearches?: bigint | undefined
  /** Whether another of its tools ran that has a price of its own. */
  readonly otherTools?: boolean | undefined
  /** Minimum price of tokens in percent of the plain price, according to the answer. */
  readonly pricePercent?: number | undefined
}

/** The cost of an answer that a provider reports, in nano-dollars. */
export interface ReportedCost {
  readonly nanos: bigint
  /** The part that the output caused. */
  readonly outputNanos: bigint
}
