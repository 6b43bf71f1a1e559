import type { GenerationFinished } from '#gen/portico/inference/v1/inference_service_pb.js'
import type { ResponsesRequest } from './body.ts'

type Json = Readonly<Record<string, unknown>>

/** What a response says of its request, with every member that it has (`contract/gateway-facts.md` 1.4). */
export function requestEcho(body: ResponsesRequest): Json {
  const { reasoning, text } = body
  return {
    instructions: body.instructions ?? null,
    metadata: body.metadata ?? {},
    parallel_tool_calls: body.parallel_tool_calls ?? true,
    temperature: body.temperature ?? 1,
    top_p: body.top_p ?? 1,
    presence_penalty: body.presence_penalty ?? 0,
    frequency_penalty: body.frequency_penalty ?? 0,
    top_logprobs: 0,
    tool_choice: body.tool_choice ?? 'auto',
    tools: (body.tools ?? []).map(({ name, description, parameters, strict }) => ({
      type: 'function',
      name,
      description: description ?? null,
      parameters: parameters ?? null,
      strict: strict ?? null,
    })),
    text: {
      format: text?.format ?? { type: 'text' },
      ...(text?.verbosity == null ? {} : { verbosity: text.verbosity }),
    },
    truncation: 'disabled',
    reasoning: reasoning == null ? null : { effort: reasoning.effort ?? null, summary: reasoning.summary ?? null },
    max_output_tokens: body.max_output_tokens ?? null,
    max_tool_calls: body.max_tool_calls ?? null,
    previous_response_id: null,
    store: false,
    background: false,
    service_tier: 'default',
    safety_identifier: body.safety_identifier ?? null,
    prompt_cache_key: body.prompt_cache_key ?? null,
    user: body.user ?? null,
    prompt: null,
  }
}

/** What was used, and what it cost in dollars; null when the provider did not say. */
export function usageJson(finished: GenerationFinished): Json | null {
  const { usage, costNanos, outputCostNanos } = finished
  if (usage === undefined) return null
  const { inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens, reasoningTokens } = usage
  return {
    input_tokens: Number(inputTokens),
    input_tokens_details: { cached_tokens: Number(cacheReadTokens), cache_write_tokens: Number(cacheWriteTokens) },
    output_tokens: Number(outputTokens),
    output_tokens_details: { reasoning_tokens: Number(reasoningTokens) },
    total_tokens: Number(inputTokens + outputTokens),
    cost: dollars(costNanos),
    is_byok: false,
    cost_details: {
      upstream_inference_cost: null,
      upstream_inference_input_cost: dollars(costNanos - outputCostNanos),
      upstream_inference_output_cost: dollars(outputCostNanos),
    },
  }
}

function dollars(nanos: bigint): number {
  return Number(nanos) / 1e9
}
