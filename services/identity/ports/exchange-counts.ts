/** How many exchanges were asked for from where. */
export interface AddressCount {
  /** An IPv4 address, or the /64 of an IPv6 address. */
  readonly address: string
  readonly count: number
}

/** Counts exchanges per address and window for all gateways together. */
export interface ExchangeCounts {
  /**
   * Adds to the counts of a window, and returns, in the same order, what they are then, with what other processes have added. `window`
   * numbers the windows; the counts of one that is over are removed some time later. Need not survive a crash.
   */
  add(window: number, counts: readonly AddressCount[]): Promise<readonly AddressCount[]>
}
