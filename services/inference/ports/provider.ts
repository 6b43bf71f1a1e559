import type { GenerationEvent, GenerationRequest } from '../domain/generation.ts'
import type { CostFactors } from '../domain/ledger/cost-factors.ts'

/**
 * A model provider: one wire protocol at one address. Both forms reject with PROVIDER_REFUSED, PROVIDER_RATE_LIMITED,
 * PROVIDER_UNAVAILABLE or PROVIDER_TIMEOUT (metadata `provider`, `message` and where known `status`, `retry_after`), or, when
 * the signal aborts, with its reason; after an abort, a return or an error nothing of the call is left open. The same answer
 * has the same parts, sources, usage and end in both forms. One of more than a million characters is cut, for its length
 * (`PartWriter`).
 */
export interface ModelProvider {
  /** Requests a whole answer. Its events come in order, `finished` the last; before a failure the usage that came with it, if any did. */
  generate(request: GenerationRequest, signal: AbortSignal): AsyncIterable<readonly GenerationEvent[]>

  /**
   * Requests a streamed answer. Each item holds what came with one read of the network, in order, never empty; nothing is
   * read ahead of the consumer without bound. Nothing is sent before the first pull, and nothing comes before the
   * provider has taken the request. Ends after `finished`.
   */
  stream(request: GenerationRequest, signal: AbortSignal): AsyncIterable<readonly GenerationEvent[]>

  /** What it makes of a request that changes what that may cost: whoever reserves it holds as much. Not there: nothing. */
  readonly costFactors?: ((request: GenerationRequest) => CostFactors) | undefined

  /** How many tokens the input of a request has, as the provider counts them; not there: it counts none. Rejects as the others do. */
  readonly countTokens?: ((request: GenerationRequest, signal: AbortSignal) => Promise<bigint>) | undefined
}
