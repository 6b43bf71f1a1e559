/** When spending starts at zero again, at 00:00 UTC: every day, every Monday, or on the first day of a month. */
export type LimitReset = 'never' | 'daily' | 'weekly' | 'monthly'

/** What a key may spend, and how fast. Undefined members are no limits. */
export interface KeyTerms {
  /** Spending limit per period, in nano-dollars. */
  readonly limitNanos: bigint | undefined
  readonly limitReset: LimitReset
  readonly requestsPerMinute: number | undefined
  /** Input and output together. */
  readonly tokensPerMinute: bigint | undefined
  readonly concurrentRequests: number | undefined
  /** Models that may be used, where `*` matches any text; empty: all. */
  readonly allowedModels: readonly string[]
  /** Spending limit of all keys of the workspace together, in nano-dollars. */
  readonly workspaceLimitNanos: bigint | undefined
}

/** The spending limit that a key has, if any: its own, else that of its workspace. */
export function moneyLimitOf(terms: KeyTerms | undefined): 'key' | 'workspace' | undefined {
  if (terms?.limitNanos !== undefined) return 'key'
  return terms?.workspaceLimitNanos === undefined ? undefined : 'workspace'
}
