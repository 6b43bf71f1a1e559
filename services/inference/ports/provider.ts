import type { ProviderEvent, ProviderRequest } from '../domain/generation.ts'
import type { CostFactors } from '../domain/ledger/cost-factors.ts'

/**
 * A model provider: one wire protocol at one address. Both forms reject with PROVIDER_REFUSED, PROVIDER_RATE_LIMITED,
 * PROVIDER_UNAVAILABLE or PROVIDER_TIMEOUT (metadata `provider`, `message` and, if known, `status` and `retry_after`)
 * or, if the signal aborts, with its reason. After an abort, a return or an error, nothing of the call remains open.
 * The same answer has the same parts, sources, usage and end in both forms. An answer of more than a million characters
 * is cut off, and ends because of its length (`PartWriter`).
 */
export interface ModelProvider {
  /**
   * Requests a whole answer. Its events come in order, `finished` last; a failure comes after its usage, if it has any.
   */
  generate(request: ProviderRequest, signal: AbortSignal): AsyncIterable<readonly ProviderEvent[]>

  /**
   * Requests a streamed answer. Each item contains the events of one read from the network, in order, and is never
   * empty; reads do not run ahead of the consumer without bounds. Nothing is sent before the first pull, and nothing is
   * returned before the provider has accepted the request. Ends after `finished`.
   */
  stream(request: ProviderRequest, signal: AbortSignal): AsyncIterable<readonly ProviderEvent[]>

  /**
   * How it will send a request, as far as that influences the cost; used to reserve enough. Absent: it has no
   * influence.
   */
  readonly costFactors?: ((request: ProviderRequest) => CostFactors) | undefined

  /**
   * How many tokens the input of a request has, as the provider counts them; absent: it cannot count. Rejects like the
   * others.
   */
  readonly countTokens?: ((request: ProviderRequest, signal: AbortSignal) => Promise<bigint>) | undefined
}
