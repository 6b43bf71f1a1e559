import type { GenerationEvent, GenerationRequest } from '#services/inference/domain/generation.ts'
import type { ModelProvider } from '#services/inference/ports/provider.ts'

/** A request with nothing in it but what a test says. */
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
    user: '',
    sessionId: '',
    providerHeaders: {},
    providerBody: undefined,
    verbosity: '',
    ...request,
  }
}

/** Every event of a generation, in order. */
export async function eventsOf(
  provider: ModelProvider,
  request: Partial<GenerationRequest> = {},
  signal: AbortSignal = new AbortController().signal,
): Promise<GenerationEvent[]> {
  const events: GenerationEvent[] = []
  for await (const batch of provider.stream(generationRequest(request), signal)) events.push(...batch)
  return events
}
