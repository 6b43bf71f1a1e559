import { FinishReason } from '#gen/portico/inference/v1/inference_pb.js'
import type { ProviderEvent, ProviderRequest } from '#services/inference/domain/generation.ts'
import type { ModelProvider } from '#services/inference/ports/provider.ts'
import type { JsonObject } from '#shared/json.ts'
import { type Attributes, type OpenSpan, streamInSpan } from '#shared/telemetry/tracing.ts'

const MAX_TRACE_MEMBERS = 32
const MAX_TRACE_NAME = 64
const MAX_TRACE_TEXT = 1_024

/**
 * A provider with a span for every generation. Names are those of the GenAI semantic conventions, 2026-10 (all of them
 * still "development"); spans contain nothing of the conversation itself.
 */
export class TracedProvider implements ModelProvider {
  readonly #providerId: string
  readonly #provider: ModelProvider

  readonly countTokens: ModelProvider['countTokens']
  readonly costFactors: ModelProvider['costFactors']

  constructor(providerId: string, provider: ModelProvider) {
    this.#providerId = providerId
    this.#provider = provider
    this.countTokens = provider.countTokens?.bind(provider)
    this.costFactors = provider.costFactors?.bind(provider)
  }

  generate(request: ProviderRequest, signal: AbortSignal): AsyncIterable<readonly ProviderEvent[]> {
    return this.#traced(request, false, () => this.#provider.generate(request, signal))
  }

  stream(request: ProviderRequest, signal: AbortSignal): AsyncIterable<readonly ProviderEvent[]> {
    return this.#traced(request, true, () => this.#provider.stream(request, signal))
  }

  #traced(
    request: ProviderRequest,
    streamed: boolean,
    call: () => AsyncIterable<readonly ProviderEvent[]>,
  ): AsyncIterable<readonly ProviderEvent[]> {
    const options = { kind: 'client', attributes: requestAttributes(this.#providerId, request, streamed) } as const
    return streamInSpan(`chat ${request.modelId}`, options, (span) =>
      span === undefined ? call() : observed(call(), new Observer(span)),
    )
  }
}

async function* observed(
  batches: AsyncIterable<readonly ProviderEvent[]>,
  observer: Observer,
): AsyncGenerator<readonly ProviderEvent[]> {
  for await (const batch of batches) {
    observer.take(batch)
    yield batch
  }
}

/** Ends a span with the figures of the last event. */
class Observer {
  readonly #span: OpenSpan
  #attributes: Attributes = {}

  constructor(span: OpenSpan) {
    this.#span = span
  }

  take(batch: readonly ProviderEvent[]): void {
    for (const { event } of batch) {
      if (event.case === 'usage') {
        const { usage } = event.value
        this.#attributes = {
          'gen_ai.usage.input_tokens': Number(usage.inputTokens),
          'gen_ai.usage.output_tokens': Number(usage.outputTokens),
          'gen_ai.usage.cache_read.input_tokens': Number(usage.cacheReadTokens),
          'gen_ai.usage.cache_creation.input_tokens': Number(usage.cacheWriteTokens),
          'gen_ai.usage.reasoning.output_tokens': Number(usage.reasoningTokens),
        }
      }
      if (event.case !== 'finished') continue
      const reason = event.value.rawReason ?? FINISH_WORDS[event.value.reason]
      this.#span.end({ attributes: { ...this.#attributes, 'gen_ai.response.finish_reasons': [reason] } })
    }
  }
}

const FINISH_WORDS: Readonly<Record<FinishReason, string>> = {
  [FinishReason.UNSPECIFIED]: 'other',
  [FinishReason.STOP]: 'stop',
  [FinishReason.LENGTH]: 'length',
  [FinishReason.TOOL_CALLS]: 'tool-calls',
  [FinishReason.CONTENT_FILTER]: 'content-filter',
  [FinishReason.OTHER]: 'other',
}

function requestAttributes(providerId: string, request: ProviderRequest, streamed: boolean): Attributes {
  const { modelId, sampling, maxOutputTokens, sessionId, trace } = request
  return {
    'gen_ai.operation.name': 'chat',
    'gen_ai.provider.name': providerId,
    'gen_ai.request.model': modelId,
    'gen_ai.request.stream': streamed,
    'gen_ai.request.max_tokens': maxOutputTokens,
    'gen_ai.request.temperature': sampling?.temperature,
    'gen_ai.request.top_p': sampling?.topP,
    'gen_ai.request.top_k': sampling?.topK,
    'gen_ai.conversation.id': sessionId,
    ...traceOf(trace),
  }
}

/** The caller's attributes for the span, each under its own name. */
function traceOf(trace: JsonObject = {}): Attributes {
  const members = Object.entries(trace).slice(0, MAX_TRACE_MEMBERS)
  return Object.fromEntries(
    members.map(([name, value]) => {
      const text = typeof value === 'string' ? value : JSON.stringify(value)
      return [`portico.trace.${name.slice(0, MAX_TRACE_NAME)}`, text.slice(0, MAX_TRACE_TEXT)]
    }),
  )
}
