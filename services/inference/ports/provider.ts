import type { GenerationEvent, GenerationRequest } from '../domain/generation.ts'

/** A model provider: one wire protocol at one address. */
export interface ModelProvider {
  /**
   * Generates one answer. Each item holds what came with one read of the network, in order, never empty; nothing is
   * read ahead of the consumer without bound. Nothing comes before the provider has taken the request. Ends after
   * `finished`, or rejects with PROVIDER_REFUSED, PROVIDER_RATE_LIMITED, PROVIDER_UNAVAILABLE or PROVIDER_TIMEOUT (metadata
   * `provider`, `message` and where known `status`, `retry_after`), or, when the signal aborts, with its reason. After an abort,
   * a return or an error nothing of the call is left open.
   */
  generate(request: GenerationRequest, signal: AbortSignal): AsyncIterable<readonly GenerationEvent[]>
}
