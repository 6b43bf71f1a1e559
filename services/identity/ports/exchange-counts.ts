/** How long an interval is, in milliseconds. */
export const INTERVAL_MS = 2_000
/** Intervals that are kept: the one that has begun, and those before it that touch the last minute. */
export const INTERVALS = 32

/** How many exchanges a client network was let through lately. */
export interface RecentExchanges {
  /** An IPv4 address, or the /64 of an IPv6 address. */
  readonly network: string
  /** By age in intervals, newest first; at most INTERVALS. Those that are left out at the end are 0. */
  readonly counts: readonly number[]
}

/** Counts exchanges of client networks for all gateways together. */
export interface ExchangeCounts {
  /**
   * Adds what was let through, each network once, to the interval that is `interval` now (its number on the wall clock) and to those before it,
   * and returns for each network, in the same order, what was added to them by any process. Of processes whose clocks differ each
   * has its own intervals. Need not survive a crash, and is forgotten some time after the last interval is over.
   */
  add(interval: number, admitted: readonly RecentExchanges[]): Promise<readonly RecentExchanges[]>
}
