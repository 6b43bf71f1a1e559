import { FinishReason } from '#gen/portico/inference/v1/inference_pb.js'
import type { ProviderEvent, ProviderRequest } from '#services/inference/domain/generation.ts'
import { PartWriter } from '#services/inference/domain/parts.ts'
import type { ModelProvider } from '#services/inference/ports/provider.ts'
import { isOverflow, OVERFLOW, rejectionForStatus } from '../http/provider-errors.ts'
import { countTokens } from './words.ts'

/**
 * Enforces the context length with which a provider's models are listed: longer conversations are refused in OpenAI's
 * words, and answers end there.
 */
export class BoundedContext implements ModelProvider {
  readonly #providerId: string
  readonly #provider: ModelProvider
  /** By model. */
  readonly #lengths: ReadonlyMap<string, number>

  constructor(providerId: string, provider: ModelProvider, lengths: ReadonlyMap<string, number>) {
    this.#providerId = providerId
    this.#provider = provider
    this.#lengths = lengths
  }

  async *generate(request: ProviderRequest, signal: AbortSignal): AsyncGenerator<readonly ProviderEvent[]> {
    yield* this.#provider.generate(this.#fitted(request), signal)
  }

  async *stream(request: ProviderRequest, signal: AbortSignal): AsyncGenerator<readonly ProviderEvent[]> {
    let fitted: ProviderRequest
    try {
      fitted = this.#fitted(request)
    } catch (error) {
      if (!request.endsAtOverflow || !isOverflow(error)) throw error
      const writer = new PartWriter()
      writer.finish(FinishReason.LENGTH, OVERFLOW)
      yield writer.take()
      return
    }
    yield* this.#provider.stream(fitted, signal)
  }

  #fitted(request: ProviderRequest): ProviderRequest {
    const length = this.#lengths.get(request.modelId)
    if (length === undefined) return request
    const tokens = countTokens(request.messages)
    if (tokens < length) {
      return { ...request, maxOutputTokens: Math.min(request.maxOutputTokens ?? Infinity, length - tokens) }
    }
    const message =
      `This model's maximum context length is ${length} tokens. However, your messages resulted in ${tokens} tokens. ` +
      'Please reduce the length of the messages.'
    throw rejectionForStatus(this.#providerId, 400, message, { code: OVERFLOW })
  }
}
