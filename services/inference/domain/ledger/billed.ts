/** What a provider bills besides tokens at their plain price. Undefined members: nothing. */
export interface Billed {
  /** Those of the tokens written to a cache that it keeps for an hour. */
  readonly longCacheWriteTokens?: bigint | undefined
  /** Searches of the web that its own tool made. */
  readonly webSearches?: bigint | undefined
  /** Searches of files, likewise. */
  readonly fileSearches?: bigint | undefined
  /** Whether another of its tools ran that has a price of its own. */
  readonly otherTools?: boolean | undefined
  /** What tokens cost at least, in percent of the plain price, as the answer says. */
  readonly pricePercent?: number | undefined
}

/** What a provider says that an answer cost, in nano-dollars. */
export interface ReportedCost {
  readonly nanos: bigint
  /** Part of it that the output caused. */
  readonly outputNanos: bigint
}
