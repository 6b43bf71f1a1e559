/** How the answer is sampled; undefined: the provider's default. */
export interface Sampling {
  readonly temperature: number | undefined
  readonly topP: number | undefined
  readonly topK: number | undefined
  readonly frequencyPenalty: number | undefined
  readonly presencePenalty: number | undefined
  readonly seed: bigint | undefined
  readonly stop: readonly string[]
  readonly minP?: number | undefined
  readonly topA?: number | undefined
  readonly repetitionPenalty?: number | undefined
  /** By token id. */
  readonly logitBias?: Readonly<Record<string, number>> | undefined
  /** How many alternatives each token is reported with; undefined: no log probabilities. */
  readonly topLogProbabilities?: number | undefined
  /** Members that are switched off, even if a preset sets them; undefined: none. */
  readonly cleared?: readonly ClearedSampling[] | undefined
}

/** A member of {@link Sampling} for which omitting it and switching it off differ. */
export type ClearedSampling = 'stop' | 'logitBias' | 'topLogProbabilities'
