import type { GenerationEvent, GenerationRequest } from '../domain/generation.ts'
import type { ModelProvider } from '../ports.ts'
import { anthropicBody } from './anthropic-request.ts'
import { AnthropicStream } from './anthropic-stream.ts'
import type { ResponseReader } from './response-reader.ts'
import { streamFrom } from './stream-from.ts'
import type { Upstream } from './upstream.ts'

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
