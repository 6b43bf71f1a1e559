/** A period after which what was spent counts as nothing again, at 00:00 UTC; `never`: a limit is for the key's whole life. */
export type LimitReset = 'never' | 'daily' | 'weekly' | 'monthly'

/** Which events streamed responses have: those of the specification, those of OpenAI's schema, or both. */
export type ResponsesDialect = 'both' | 'openai' | 'specification'

/** What a key may spend, and on what; undefined: as much as it likes. Who serves requests enforces it. */
export interface KeyTerms {
  /** Nano-dollars in each period. */
  readonly limitNanos: bigint | undefined
  readonly limitReset: LimitReset
  readonly requestsPerMinute: number | undefined
  /** Of input and output together. */
  readonly tokensPerMinute: number | undefined
  readonly concurrentRequests: number | undefined
  /** `*` stands for any text; none: every model. */
  readonly allowedModels: readonly string[]
  readonly limitIncludesOwnKeys: boolean
  /** Undefined: as the server is set. */
  readonly responsesDialect?: ResponsesDialect | undefined
  /** Whether assistant messages of a history need `id` and `status`; undefined: as the server is set. */
  readonly historyIds?: boolean | undefined
}

/** Those of a key that nobody set any for. */
export const NO_TERMS: KeyTerms = {
  limitNanos: undefined,
  limitReset: 'never',
  requestsPerMinute: undefined,
  tokensPerMinute: undefined,
  concurrentRequests: undefined,
  allowedModels: [],
  limitIncludesOwnKeys: false,
}
