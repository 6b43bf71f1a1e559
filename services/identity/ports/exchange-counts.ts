import type { RecentExchanges } from '#gen/portico/identity/v1/federation_service_pb.js'

/** Length of an interval, in milliseconds. */
export const INTERVAL_MS = 2_000
/** How many intervals are kept: the current one, and earlier ones that overlap the last minute. */
export const INTERVALS = 32

/** Counts exchanges of client networks for all gateways together. */
export interface ExchangeCounts {
  /**
   * Adds admitted exchanges, each network once, to the current `interval` (its number on the wall clock) and those
   * before it. Returns for each network, in the same order, what all processes have added to them. Processes whose
   * clocks differ use different intervals. Counts need not survive a crash, and are dropped some time after the last
   * interval.
   */
  add(interval: number, admitted: readonly RecentExchanges[]): Promise<RecentExchanges[]>
}
