/** Which endpoints may serve a request, and in which order they are preferred. */
export interface Routing {
  /** Providers that may serve it; empty: all. */
  readonly only: readonly string[]
  /** Providers that may not. */
  readonly ignore: readonly string[]
  /** Whether an endpoint that would pass over a setting of the request may not serve it. */
  readonly requireParameters: boolean
  /** Whether an endpoint that keeps what it is sent may not serve it. */
  readonly denyDataCollection: boolean
  /** Whether only endpoints that retain nothing may serve it. */
  readonly zeroDataRetention: boolean
  /** Most that tokens may cost, in nano-dollars per million; undefined: anything. */
  readonly maxInputNanos: bigint | undefined
  readonly maxOutputNanos: bigint | undefined
  /** Members that say a preference only, by name: they are reported as not applied. */
  readonly preferences: readonly string[]
  /** Whether only endpoints whose text may be distilled may serve it. */
  readonly enforceDistillableText: boolean
  /** Precisions that may serve it; empty: all. */
  readonly quantizations: readonly string[]
}
