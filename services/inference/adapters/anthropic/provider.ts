import type { GenerationEvent, GenerationRequest } from '#services/inference/domain/generation.ts'
import type { ModelProvider } from '#services/inference/ports/provider.ts'
import type { ResponseReader } from '../http/response-reader.ts'
import { streamFrom } from '../http/stream-from.ts'
import type { Upstream } from '../http/upstream.ts'
import { AnthropicStream } from './mapper.ts'
import { anthropicBody } from './request.ts'

/** A server of Anthropic's messages API. */
export class AnthropicProvider implements ModelProvider {
  readonly #providerId: string
  readonly #upstream: Upstream

  constructor(providerId: string, upstream: Upstream) {
    this.#providerId = providerId
    this.#upstream = upstream
  }

  generate(request: GenerationRequest, signal: AbortSignal): AsyncIterable<readonly GenerationEvent[]> {
    const ask = (): Promise<ResponseReader> => {
      const body = JSON.stringify(anthropicBody(request))
      return this.#upstream.post('/v1/messages', request.providerHeaders, body, signal)
    }
    return streamFrom(ask, this.#providerId, new AnthropicStream(this.#providerId))
  }
}
