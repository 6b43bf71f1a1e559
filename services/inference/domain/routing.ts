/** Which endpoints may serve a request, and in which order of preference. */
export interface Routing {
  /** Providers that may serve it; empty: all. */
  readonly only: readonly string[]
  /** Providers that may not serve it. */
  readonly ignore: readonly string[]
  /** Whether it excludes endpoints that would ignore a setting of the request. */
  readonly requireParameters: boolean
  /** Whether it excludes endpoints that store data. */
  readonly denyDataCollection: boolean
  /** Whether it excludes endpoints that retain anything. */
  readonly zeroDataRetention: boolean
  /** Maximum price of tokens, in nano-dollars per million; undefined: no maximum. */
  readonly maxInputNanos: bigint | undefined
  readonly maxOutputNanos: bigint | undefined
  /** Members that are not applied, by name: preferences, and prices of what has none of its own. */
  readonly preferences: readonly string[]
  /** Whether only endpoints whose output may be distilled may serve it. */
  readonly enforceDistillableText: boolean
  /** Precisions that may serve it; empty: all. */
  readonly quantizations: readonly string[]
}
