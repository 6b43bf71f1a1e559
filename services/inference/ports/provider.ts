import type { GenerationEvent, GenerationRequest } from '../domain/generation.ts'
import type { Asked } from '../domain/ledger/asked.ts'

/**
 * A model provider: one wire protocol at one address. Both forms reject with PROVIDER_REFUSED, PROVIDER_RATE_LIMITED,
 * PROVIDER_UNAVAILABLE or PROVIDER_TIMEOUT (metadata `provider`, `message` and where known `status`, `retry_after`), or, when
 * the signal aborts, with its reason; after an abort, a return or an error nothing of the call is left open. The same answer
 * has the same parts, sources, usage and end in both forms. One of more than a million characters is cut, for its length
 * (`PartWriter`).
 */
export interface ModelProvider {
  /** Asks for a whole answer. Its events come in order, `finished` the last; before a failure the usage that came with it, if any did. */
  generate(request: GenerationRequest, signal: AbortSignal): AsyncIterable<readonly GenerationEvent[]>

  /**
   * Asks for a streamed answer. Each item holds what came with one read of the network, in order, never empty; nothing is
   * read ahead of the consumer without bound. Nothing is asked before the first pull, and nothing comes before the
   * provider has taken the request. Ends after `finished`.
   */
  stream(request: GenerationRequest, signal: AbortSignal): AsyncIterable<readonly GenerationEvent[]>

  /** What it will ask for with a request: whoever reserves what a request may cost holds as much. Not there: nothing that changes it. */
  readonly asksFor?: ((request: GenerationRequest) => Asked) | undefined

  /** How many tokens the input of a request has, as the provider counts them; not there: it counts none. Rejects as the others do. */
  readonly countTokens?: ((request: GenerationRequest, signal: AbortSignal) => Promise<bigint>) | undefined
}
