/** Length of an interval, in milliseconds. */
export const INTERVAL_MS = 2_000
/** How many intervals are kept: the current one, and earlier ones that overlap the last minute. */
export const INTERVALS = 32

/** How many exchanges of a client network were admitted recently. */
export interface RecentExchanges {
  /** An IPv4 address, or the /64 of an IPv6 address. */
  readonly network: string
  /** By age in intervals, newest first; at most INTERVALS. Missing ones at the end are 0. */
  readonly counts: readonly number[]
}

/** Counts exchanges of client networks for all gateways together. */
export interface ExchangeCounts {
  /**
   * Adds admitted exchanges, each network once, to the current `interval` (its number on the wall clock) and those
   * before it. Returns for each network, in the same order, what all processes have added to them. Processes whose
   * clocks differ use different intervals. Counts need not survive a crash, and are dropped some time after the last
   * interval.
   */
  add(interval: number, admitted: readonly RecentExchanges[]): Promise<readonly RecentExchanges[]>
}
