import type { ProviderEvent, ProviderRequest } from '#services/inference/domain/generation.ts'
import type { CostFactors } from '#services/inference/domain/ledger/cost-factors.ts'
import { Omissions } from '#services/inference/domain/left-out.ts'
import type { ModelProvider } from '#services/inference/ports/provider.ts'
import { type ProviderCall, streamedAnswer, wholeAnswer } from '../http/provider-call.ts'
import type { Upstream } from '../http/upstream.ts'
import { tierFactors } from '../openai/cost.ts'
import type { OpenaiDialect } from '../openai/dialect.ts'
import { OPENAI_FORMAT } from './format.ts'
import { ResponsesMapper } from './mapper.ts'
import { responsesBody, responsesWarnings } from './request.ts'

/**
 * A server of OpenAI's Responses API, the only one that preserves the thoughts of OpenAI's models between tool calls.
 */
export class ResponsesProvider implements ModelProvider {
  readonly #providerId: string
  readonly #dialect: OpenaiDialect
  readonly #upstream: Upstream

  constructor(providerId: string, dialect: OpenaiDialect, upstream: Upstream) {
    this.#providerId = providerId
    this.#dialect = dialect
    this.#upstream = upstream
  }

  generate(request: ProviderRequest, signal: AbortSignal): AsyncIterable<readonly ProviderEvent[]> {
    return wholeAnswer(this.#call(request, true, signal))
  }

  stream(request: ProviderRequest, signal: AbortSignal): AsyncIterable<readonly ProviderEvent[]> {
    return streamedAnswer(this.#call(request, false, signal))
  }

  costFactors({ serviceTier, speed }: ProviderRequest): CostFactors {
    const tier = serviceTier || (speed === 'fast' ? 'priority' : undefined)
    return { format: OPENAI_FORMAT, ...tierFactors(tier, this.#dialect === 'openai') }
  }

  #call(request: ProviderRequest, whole: boolean, signal: AbortSignal): ProviderCall {
    const omissions = new Omissions(responsesWarnings(request))
    const send: ProviderCall['send'] = async () => {
      const body = JSON.stringify(responsesBody(request, omissions, whole))
      const own = request.extensions.find(({ format }) => format === OPENAI_FORMAT)?.headers
      return await this.#upstream.post('/responses', {
        headers: { ...request.providerHeaders, ...own },
        body,
        whole,
        timeouts: request.providerTimeouts,
        signal,
      })
    }
    const mapper = new ResponsesMapper(this.#providerId, omissions.warnings, request.sampling?.stop)
    return { providerId: this.#providerId, send, mapper, signal, upstream: this.#upstream, request }
  }
}
