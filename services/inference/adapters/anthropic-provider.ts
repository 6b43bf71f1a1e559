import type { GenerationEvent, GenerationRequest } from '../domain/generation.ts'
import type { ModelProvider } from '../ports.ts'
import { anthropicBody } from './anthropic-request.ts'
import { AnthropicStream } from './anthropic-stream.ts'
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

  async *generate(request: GenerationRequest, signal: AbortSignal): AsyncGenerator<readonly GenerationEvent[]> {
    const body = JSON.stringify(anthropicBody(request))
    const reader = await this.#upstream.post('/v1/messages', request.providerHeaders, body, signal)
    yield* streamFrom(reader, this.#providerId, new AnthropicStream(this.#providerId))
  }
}
