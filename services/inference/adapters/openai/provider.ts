import type { GenerationEvent, GenerationRequest } from '#services/inference/domain/generation.ts'
import type { ModelProvider } from '#services/inference/ports/provider.ts'
import { type Exchange, streamedAnswer, wholeAnswer } from '../http/exchange.ts'
import type { Upstream } from '../http/upstream.ts'
import { OpenaiMapper } from './mapper.ts'
import { type OpenaiDialect, openaiBody } from './request.ts'
import { openaiWarnings } from './warnings.ts'

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

  generate(request: GenerationRequest, signal: AbortSignal): Promise<readonly GenerationEvent[]> {
    return wholeAnswer(this.#exchange(request, true, signal))
  }

  stream(request: GenerationRequest, signal: AbortSignal): AsyncIterable<readonly GenerationEvent[]> {
    return streamedAnswer(this.#exchange(request, false, signal))
  }

  #exchange(request: GenerationRequest, whole: boolean, signal: AbortSignal): Exchange {
    const ask: Exchange['ask'] = () => {
      const body = JSON.stringify(openaiBody(request, this.#dialect, whole))
      return this.#upstream.post('/chat/completions', { headers: request.providerHeaders, body, whole, signal })
    }
    const mapper = new OpenaiMapper(this.#providerId, openaiWarnings(request, this.#dialect))
    return { providerId: this.#providerId, ask, mapper, signal }
  }
}
