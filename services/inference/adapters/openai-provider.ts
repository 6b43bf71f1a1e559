import type { GenerationEvent, GenerationRequest } from '../domain/generation.ts'
import type { ModelProvider } from '../ports.ts'
import { type OpenaiDialect, openaiBody } from './openai-request.ts'
import { OpenaiStream } from './openai-stream.ts'
import { streamFrom } from './stream-from.ts'
import type { Upstream } from './upstream.ts'

/** A server of OpenAI's chat completions: OpenAI itself, OpenRouter, Ollama, vLLM and the like. */
export class OpenaiProvider implements ModelProvider {
  readonly #providerId: string
  readonly #dialect: OpenaiDialect
  readonly #upstream: Upstream

  constructor(providerId: string, dialect: OpenaiDialect, upstream: Upstream) {
    this.#providerId = providerId
    this.#dialect = dialect
    this.#upstream = upstream
  }

  async *generate(request: GenerationRequest, signal: AbortSignal): AsyncGenerator<readonly GenerationEvent[]> {
    const body = JSON.stringify(openaiBody(request, this.#dialect))
    const reader = await this.#upstream.post('/chat/completions', request.providerHeaders, body, signal)
    yield* streamFrom(reader, this.#providerId, new OpenaiStream(this.#providerId))
  }
}
