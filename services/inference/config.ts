/** Settings of the inference service. */
export interface Config {
  readonly store: { readonly kind: 'sqlite'; readonly directory: string }
  /** Longest time that one generation may take. */
  readonly generationTimeoutMs: number
}
