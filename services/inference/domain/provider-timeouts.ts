/** Time limits for a provider, in milliseconds; the server's own limits apply if they are undefined or higher. */
export interface ProviderTimeouts {
  readonly totalMs?: number | undefined
  /** Until a stream begins. */
  readonly headersMs?: number | undefined
  /** Between two pieces of an answer. */
  readonly chunkMs?: number | undefined
}
