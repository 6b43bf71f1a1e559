import { FlatTools } from '#services/inference/domain/flat-tools.ts'
import type { ProviderEvent, ProviderRequest } from '#services/inference/domain/generation.ts'
import type { CostFactors } from '#services/inference/domain/ledger/cost-factors.ts'
import { Omissions } from '#services/inference/domain/left-out.ts'
import type { ModelProvider } from '#services/inference/ports/provider.ts'
import { type ProviderCall, streamedAnswer, wholeAnswer } from '../http/provider-call.ts'
import type { Upstream } from '../http/upstream.ts'
import { tierFactors } from './cost.ts'
import type { ChatProfile } from './dialect.ts'
import { OpenaiMapper } from './mapper.ts'
import { openaiBody, openaiWarnings } from './request.ts'

/** A server of OpenAI's chat completions: OpenAI itself, OpenRouter, Ollama, vLLM and the like. */
export class OpenaiProvider implements ModelProvider {
  readonly #providerId: string
  readonly #profile: ChatProfile
  readonly #upstream: Upstream

  constructor(providerId: string, profile: ChatProfile, upstream: Upstream) {
    this.#providerId = providerId
    this.#profile = profile
    this.#upstream = upstream
  }

  generate(request: ProviderRequest, signal: AbortSignal): AsyncIterable<readonly ProviderEvent[]> {
    return wholeAnswer(this.#call(request, true, signal))
  }

  stream(request: ProviderRequest, signal: AbortSignal): AsyncIterable<readonly ProviderEvent[]> {
    return streamedAnswer(this.#call(request, false, signal))
  }

  costFactors({ serviceTier, speed, reasoning }: ProviderRequest): CostFactors {
    const { dialect } = this.#profile
    const tier = serviceTier || (speed === 'fast' && dialect !== 'compatible' ? 'priority' : undefined)
    // OpenRouter requires more of an answer than its thoughts may take.
    const budget = dialect === 'openrouter' ? reasoning?.maxTokens : undefined
    return { ...tierFactors(tier, dialect === 'openai'), leastOutputTokens: budget && budget + 1 }
  }

  #call(request: ProviderRequest, whole: boolean, signal: AbortSignal): ProviderCall {
    const omissions = new Omissions(openaiWarnings(request, this.#profile))
    const send: ProviderCall['send'] = async () => {
      const body = JSON.stringify(openaiBody(request, { profile: this.#profile, omissions }, whole))
      const { providerHeaders: headers, providerTimeouts: timeouts } = request
      return await this.#upstream.post('/chat/completions', { headers, body, whole, timeouts, signal })
    }
    const mapper = new OpenaiMapper(this.#providerId, omissions.warnings, new FlatTools(request.tools))
    return { providerId: this.#providerId, send, mapper, signal, upstream: this.#upstream, request }
  }
}
