import type { ProviderEvent, ProviderRequest } from '#services/inference/domain/generation.ts'
import { type CostFactors, cachesLong } from '#services/inference/domain/ledger/cost-factors.ts'
import type { ModelProvider } from '#services/inference/ports/provider.ts'
import { countAt } from '../http/json.ts'
import { jsonObject, type ProviderCall, streamedAnswer, wholeAnswer } from '../http/provider-call.ts'
import { unavailable } from '../http/provider-errors.ts'
import type { Upstream } from '../http/upstream.ts'
import { ANTHROPIC, headersOf } from './extension.ts'
import { AnthropicMapper } from './mapper.ts'
import { anthropicBody, comesWhole, countBody, maxTokensOf } from './request.ts'
import { ownBudgetOf } from './thinking.ts'
import { AnthropicTools } from './tools.ts'
import { pricePercentOf } from './usage.ts'
import { anthropicWarnings } from './warnings.ts'

const MAX_COUNT_BYTES = 64 * 1024

/** A server of Anthropic's messages API. */
export class AnthropicProvider implements ModelProvider {
  readonly #providerId: string
  readonly #upstream: Upstream

  constructor(providerId: string, upstream: Upstream) {
    this.#providerId = providerId
    this.#upstream = upstream
  }

  generate(request: ProviderRequest, signal: AbortSignal): AsyncIterable<readonly ProviderEvent[]> {
    return wholeAnswer(this.#call(request, comesWhole(request), signal))
  }

  stream(request: ProviderRequest, signal: AbortSignal): AsyncIterable<readonly ProviderEvent[]> {
    return streamedAnswer(this.#call(request, false, signal))
  }

  costFactors(request: ProviderRequest): CostFactors {
    const outputTokens = request.maxOutputTokens === undefined ? maxTokensOf(request) : undefined
    const budget = ownBudgetOf(request)
    const tokens = { outputTokens, leastOutputTokens: budget === undefined ? undefined : budget + 1 }
    return { format: ANTHROPIC, ...tokens, pricePercent: pricePercentOf(request), cachesLong: cachesLong(request) }
  }

  async countTokens(request: ProviderRequest, signal: AbortSignal): Promise<bigint> {
    const body = JSON.stringify(countBody(request))
    const headers = headersOf(request)
    const reader = await this.#upstream.post('/v1/messages/count_tokens', { headers, body, whole: true, signal })
    try {
      const answer = jsonObject(await reader.text(MAX_COUNT_BYTES), this.#providerId, 'an answer')
      const tokens = countAt(answer.input_tokens)
      if (tokens === undefined) throw unavailable(this.#providerId, 'It sent no number of tokens')
      return tokens
    } finally {
      reader.close()
    }
  }

  #call(request: ProviderRequest, whole: boolean, signal: AbortSignal): ProviderCall {
    const tools = new AnthropicTools(request)
    const send: ProviderCall['send'] = () => {
      const body = JSON.stringify(anthropicBody(request, whole, tools))
      return this.#upstream.post('/v1/messages', {
        headers: headersOf(request),
        body,
        whole,
        timeouts: request.providerTimeouts,
        signal,
      })
    }
    const mapper = new AnthropicMapper(this.#providerId, anthropicWarnings(request), tools)
    const limits = { endsAtOverflow: request.endsAtOverflow, maxOutputTokens: maxTokensOf(request) }
    return { providerId: this.#providerId, send, mapper, signal, upstream: this.#upstream, request: limits }
  }
}
