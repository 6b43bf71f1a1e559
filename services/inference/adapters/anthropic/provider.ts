import type { GenerationEvent, GenerationRequest } from '#services/inference/domain/generation.ts'
import type { ModelProvider } from '#services/inference/ports/provider.ts'
import { type Exchange, streamedAnswer, wholeAnswer } from '../http/exchange.ts'
import type { Upstream } from '../http/upstream.ts'
import { AnthropicMapper } from './mapper.ts'
import { anthropicBody } from './request.ts'
import { anthropicWarnings } from './warnings.ts'

/** A server of Anthropic's messages API. */
export class AnthropicProvider implements ModelProvider {
  readonly #providerId: string
  readonly #upstream: Upstream

  constructor(providerId: string, upstream: Upstream) {
    this.#providerId = providerId
    this.#upstream = upstream
  }

  generate(request: GenerationRequest, signal: AbortSignal): Promise<readonly GenerationEvent[]> {
    return wholeAnswer(this.#exchange(request, true, signal))
  }

  stream(request: GenerationRequest, signal: AbortSignal): AsyncIterable<readonly GenerationEvent[]> {
    return streamedAnswer(this.#exchange(request, false, signal))
  }

  #exchange(request: GenerationRequest, whole: boolean, signal: AbortSignal): Exchange {
    const ask: Exchange['ask'] = () => {
      const body = JSON.stringify(anthropicBody(request, whole))
      return this.#upstream.post('/v1/messages', { headers: request.providerHeaders, body, whole, signal })
    }
    const mapper = new AnthropicMapper(this.#providerId, anthropicWarnings(request))
    return { providerId: this.#providerId, ask, mapper, signal, origin: request.origin }
  }
}
