import { create } from '@bufbuild/protobuf'
import { type CacheControl, CacheControlSchema } from '#gen/portico/inference/v1/inference_pb.js'
import type { ProviderConfig } from '#services/inference/config-file.ts'
import { markersOf, withCacheMarker, withHintsAs } from '#services/inference/domain/automatic-cache.ts'
import type { ProviderEvent, ProviderRequest } from '#services/inference/domain/generation.ts'
import type { ModelProvider } from '#services/inference/ports/provider.ts'

/** Applies the configuration of a provider: always streams, and adds cache markers to requests without any. */
export function configured(provider: ModelProvider, { alwaysStream, cache }: ProviderConfig): ModelProvider {
  const marking =
    cache === undefined ? provider : new MarkingProvider(provider, create(CacheControlSchema, { ttl: cache }))
  return alwaysStream ? new StreamingProvider(marking) : marking
}

class StreamingProvider implements ModelProvider {
  readonly countTokens: ModelProvider['countTokens']
  readonly costFactors: ModelProvider['costFactors']
  readonly #provider: ModelProvider

  constructor(provider: ModelProvider) {
    this.#provider = provider
    this.countTokens = provider.countTokens?.bind(provider)
    this.costFactors = provider.costFactors?.bind(provider)
  }

  generate(request: ProviderRequest, signal: AbortSignal): AsyncIterable<readonly ProviderEvent[]> {
    return this.#provider.stream(request, signal)
  }

  stream(request: ProviderRequest, signal: AbortSignal): AsyncIterable<readonly ProviderEvent[]> {
    return this.#provider.stream(request, signal)
  }
}

class MarkingProvider implements ModelProvider {
  readonly countTokens: ModelProvider['countTokens']
  readonly costFactors: ModelProvider['costFactors']
  readonly #provider: ModelProvider
  readonly #cache: CacheControl

  constructor(provider: ModelProvider, cache: CacheControl) {
    this.#provider = provider
    this.countTokens = provider.countTokens?.bind(provider)
    this.costFactors = provider.costFactors && ((request) => provider.costFactors?.(this.#withMarks(request)) ?? {})
    this.#cache = cache
  }

  generate(request: ProviderRequest, signal: AbortSignal): AsyncIterable<readonly ProviderEvent[]> {
    return this.#provider.generate(this.#withMarks(request), signal)
  }

  stream(request: ProviderRequest, signal: AbortSignal): AsyncIterable<readonly ProviderEvent[]> {
    return this.#provider.stream(this.#withMarks(request), signal)
  }

  #withMarks(request: ProviderRequest): ProviderRequest {
    if (markersOf(request) > 0) return withHintsAs(request, this.#cache)
    return { ...request, messages: withCacheMarker(request, this.#cache) }
  }
}
