import { create } from '@bufbuild/protobuf'
import {
  type Generation,
  GenerationSchema,
  LogProbabilitiesSchema,
  PartSchema,
} from '#gen/portico/inference/v1/inference_pb.js'
import type { GenerationEvent as EventMessage } from '#gen/portico/inference/v1/inference_service_pb.js'
import type { GenerationEvent, GenerationRequest } from '#services/inference/domain/generation.ts'
import type { ModelProvider } from '#services/inference/ports/provider.ts'

/** A request with only what a test gives. */
export function generationRequest(request: Partial<GenerationRequest> = {}): GenerationRequest {
  return {
    requestId: 'req_1',
    modelId: 'model',
    messages: [{ role: 'user', parts: [{ type: 'text', text: 'Hello' }] }],
    tools: [],
    toolChoice: undefined,
    parallelToolCalls: undefined,
    maxOutputTokens: undefined,
    sampling: undefined,
    reasoning: undefined,
    responseFormat: undefined,
    user: undefined,
    sessionId: undefined,
    origin: '',
    providerHeaders: {},
    providerBody: undefined,
    verbosity: undefined,
    hostedTools: [],
    extensions: [],
    metadata: {},
    notApplied: [],
    ...request,
  }
}

/** Every event of a generation, in order. */
export async function eventsOf(
  provider: ModelProvider,
  request: Partial<GenerationRequest> = {},
  signal: AbortSignal = new AbortController().signal,
): Promise<GenerationEvent[]> {
  return (await Array.fromAsync(provider.stream(generationRequest(request), signal))).flat()
}

/** Every event of a generation requested whole, in order. */
export async function wholeEventsOf(
  provider: ModelProvider,
  request: Partial<GenerationRequest> = {},
  signal: AbortSignal = new AbortController().signal,
): Promise<GenerationEvent[]> {
  return (await Array.fromAsync(provider.generate(generationRequest(request), signal))).flat()
}

/** The generation that a stream of events amounts to. */
export function wholeOf(events: readonly EventMessage[]): Generation {
  const generation = create(GenerationSchema)
  for (const { event } of events) {
    if (event.case === 'started') {
      generation.model = event.value.model
      generation.providerId = event.value.providerId
    } else if (event.case === 'source') generation.sources.push(event.value)
    else if (event.case === 'partExtended' && event.value.logProbabilities.length > 0) {
      const { index, logProbabilities } = event.value
      generation.logProbabilities[index] ??= create(LogProbabilitiesSchema)
      generation.logProbabilities[index].tokens.push(...logProbabilities)
    } else if (event.case === 'partEnded') generation.parts[event.value.index] = event.value.part ?? create(PartSchema)
    else if (event.case === 'finished') {
      const { $typeName: _, ...finished } = event.value
      Object.assign(generation, finished)
    }
  }
  return generation
}
