import type { ProviderConfig } from '#services/inference/config-file.ts'
import { markersOf, withCacheMarker, withHintsAs } from '#services/inference/domain/automatic-cache.ts'
import type { CacheControl } from '#services/inference/domain/conversation.ts'
import type { GenerationEvent, GenerationRequest } from '#services/inference/domain/generation.ts'
import type { ModelProvider } from '#services/inference/ports/provider.ts'

/** Applies the configuration of a provider: always streams, and adds cache markers to requests without any. */
export function configured(provider: ModelProvider, { alwaysStream, cache }: ProviderConfig): ModelProvider {
  const marking = cache === undefined ? provider : new MarkingProvider(provider, cache)
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

  generate(request: GenerationRequest, signal: AbortSignal): AsyncIterable<readonly GenerationEvent[]> {
    return this.#provider.stream(request, signal)
  }

  stream(request: GenerationRequest, signal: AbortSignal): AsyncIterable<readonly GenerationEvent[]> {
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
    this.costFactors = provider.costFactors && ((request) => provider.costFactors?.(this.#marked(request)) ?? {})
    this.#cache = cache
  }

  generate(request: GenerationRequest, signal: AbortSignal): AsyncIterable<readonly GenerationEvent[]> {
    return this.#provider.generate(this.#marked(request), signal)
  }

  stream(request: GenerationRequest, signal: AbortSignal): AsyncIterable<readonly GenerationEvent[]> {
    return this.#provider.stream(this.#marked(request), signal)
  }

  #marked(request: GenerationRequest): GenerationRequest {
    if (markersOf(request) > 0) return withHintsAs(request, this.#cache)
    return { ...request, messages: withCacheMarker(request, this.#cache) }
  }
}
