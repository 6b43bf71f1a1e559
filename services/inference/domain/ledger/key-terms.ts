/** When what was spent counts as nothing again, at 00:00 UTC: every day, every Monday, on the first day of a month. */
export type LimitReset = 'never' | 'daily' | 'weekly' | 'monthly'

/** What a key may spend, and how fast. Undefined members are no limits. */
export interface KeyTerms {
  /** Most that may be spent in a period, in nano-dollars. */
  readonly limitNanos: bigint | undefined
  readonly limitReset: LimitReset
  readonly requestsPerMinute: number | undefined
  /** Of input and output together. */
  readonly tokensPerMinute: bigint | undefined
  readonly concurrentRequests: number | undefined
  /** Models that may be used, where `*` stands for any text; empty: all. */
  readonly allowedModels: readonly string[]
  /** Most that all keys of the workspace together may spend, in nano-dollars. */
  readonly workspaceLimitNanos: bigint | undefined
}

/** Whose limit of money a key has, if any: its own before that of its workspace. */
export function moneyLimitOf(terms: KeyTerms | undefined): 'key' | 'workspace' | undefined {
  if (terms?.limitNanos !== undefined) return 'key'
  return terms?.workspaceLimitNanos === undefined ? undefined : 'workspace'
}
