/**
 * The period after which spending starts at zero again, at 00:00 UTC; `never`: a limit applies to the key's whole life.
 */
export type LimitReset = 'never' | 'daily' | 'weekly' | 'monthly'

/** The events of streamed responses: those of the specification, those of OpenAI's schema, or both. */
export type ResponsesDialect = 'both' | 'openai' | 'specification'

/** What a key may spend, and on what; undefined: no limit. The service that serves the request enforces it. */
export interface KeyTerms {
  /** Nano-dollars per period. */
  readonly limitNanos: bigint | undefined
  readonly limitReset: LimitReset
  readonly requestsPerMinute: number | undefined
  /** Input and output together. */
  readonly tokensPerMinute: number | undefined
  readonly concurrentRequests: number | undefined
  /** `*` matches any text; empty: every model. */
  readonly allowedModels: readonly string[]
  readonly limitIncludesOwnKeys: boolean
  /** Undefined: the server's default. */
  readonly responsesDialect?: ResponsesDialect | undefined
  /** Whether assistant messages of a history require `id` and `status`; undefined: the server's default. */
  readonly historyIds?: boolean | undefined
}

/** The terms of a key for which none were set. */
export const NO_TERMS: KeyTerms = {
  limitNanos: undefined,
  limitReset: 'never',
  requestsPerMinute: undefined,
  tokensPerMinute: undefined,
  concurrentRequests: undefined,
  allowedModels: [],
  limitIncludesOwnKeys: false,
}
