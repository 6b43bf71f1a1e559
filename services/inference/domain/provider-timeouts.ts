/** How long a provider may take, in milliseconds; undefined, or more than the server's own limit: that limit. */
export interface ProviderTimeouts {
  readonly totalMs?: number | undefined
  /** Until a stream begins. */
  readonly headersMs?: number | undefined
  /** Between two pieces of an answer. */
  readonly chunkMs?: number | undefined
}
