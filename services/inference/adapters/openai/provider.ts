import type { GenerationEvent, GenerationRequest } from '#services/inference/domain/generation.ts'
import type { ModelProvider } from '#services/inference/ports/provider.ts'
import type { ResponseReader } from '../http/response-reader.ts'
import { streamFrom } from '../http/stream-from.ts'
import type { Upstream } from '../http/upstream.ts'
import { OpenaiStream } from './mapper.ts'
import { type OpenaiDialect, openaiBody } from './request.ts'

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

  generate(request: GenerationRequest, signal: AbortSignal): AsyncIterable<readonly GenerationEvent[]> {
    const ask = (): Promise<ResponseReader> => {
      const body = JSON.stringify(openaiBody(request, this.#dialect))
      return this.#upstream.post('/chat/completions', request.providerHeaders, body, signal)
    }
    return streamFrom(ask, this.#providerId, new OpenaiStream(this.#providerId))
  }
}
