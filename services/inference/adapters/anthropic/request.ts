import type { GenerationRequest } from '#services/inference/domain/generation.ts'
import { anthropicMessages, anthropicSystem } from './messages.ts'

/** The API demands a limit; this one every current model allows. */
const DEFAULT_MAX_TOKENS = 32_000
const MIN_BUDGET = 1_024
/** Models that think by a budget of tokens; later ones decide themselves, by effort. */
const BY_BUDGET = /^claude-(3-|(opus|sonnet|haiku)-4-([015]|20\d{6})(-|$))/
const BUDGETS: Readonly<Record<string, number>> = { minimal: 1_024, low: 4_096, medium: 10_000, high: 16_000 }
const EFFORTS: Readonly<Record<string, string>> = { minimal: 'low' }
const JSON_ONLY = 'Answer with one JSON object and nothing else.'

/** The body of a message, whole or streamed. Members of `provider_body` never replace these. */
export function anthropicBody(request: GenerationRequest, whole = false): Record<string, unknown> {
  const { sampling, responseFormat, maxOutputTokens, user } = request
  const { thinking, effort, budget } = thinkingOf(request)
  const system = anthropicSystem(request.messages)
  if (responseFormat?.type === 'json-object') system.push({ type: 'text', text: JSON_ONLY })
  const format =
    responseFormat?.type === 'json-schema' ? { type: 'json_schema', schema: responseFormat.schema } : undefined
  const output = { ...(effort === undefined ? {} : { effort }), ...(format === undefined ? {} : { format }) }
  // Thinking models take no temperature and no top_k.
  const free = thinking === undefined || thinking.type === 'disabled' ? sampling : undefined
  const body = {
    ...request.providerBody,
    model: request.modelId,
    messages: anthropicMessages(request.messages),
    stream: !whole,
    max_tokens: maxOutputTokens ?? Math.max(DEFAULT_MAX_TOKENS, budget + MIN_BUDGET),
    system: system.length === 0 ? undefined : system,
    ...toolsOf(request),
    temperature: free?.temperature === undefined ? undefined : Math.min(free.temperature, 1),
    top_p: free?.topP,
    top_k: free?.topK,
    stop_sequences: sampling === undefined || sampling.stop.length === 0 ? undefined : sampling.stop,
    thinking,
    output_config: Object.keys(output).length === 0 ? undefined : output,
    metadata: user ? { user_id: user } : undefined,
  }
  return Object.fromEntries(Object.entries(body).filter(([, value]) => value !== undefined))
}

function toolsOf({ tools, toolChoice, parallelToolCalls }: GenerationRequest): Record<string, unknown> {
  if (tools.length === 0) return {}
  const mode = { auto: 'auto', none: 'none', required: 'any', named: 'tool', hosted: 'tool' }[
    toolChoice?.mode ?? 'auto'
  ]
  const name = toolChoice?.mode === 'named' ? { name: toolChoice.name } : {}
  const alone = parallelToolCalls === false && mode !== 'none' ? { disable_parallel_tool_use: true } : {}
  const said = toolChoice === undefined && parallelToolCalls !== false
  return {
    tools: tools.map(({ name, description, parameters, strict }) => ({
      name,
      ...(description ? { description } : {}),
      input_schema: parameters ?? { type: 'object', properties: {} },
      ...(strict === undefined ? {} : { strict }),
    })),
    ...(said ? {} : { tool_choice: { type: mode, ...name, ...alone } }),
  }
}

interface Thinking {
  readonly thinking: { readonly type: string; readonly budget_tokens?: number } | undefined
  readonly effort: string | undefined
  readonly budget: number
}

/** How the model is asked to think. */
export function thinkingOf({ reasoning, modelId, maxOutputTokens }: GenerationRequest): Thinking {
  const nothing: Thinking = { thinking: undefined, effort: undefined, budget: 0 }
  if (reasoning === undefined) return nothing
  const { effort, maxTokens } = reasoning
  if (effort === 'none') return { ...nothing, thinking: { type: 'disabled' } }
  if (maxTokens || (effort && BY_BUDGET.test(modelId))) {
    const wanted = maxTokens || (BUDGETS[effort ?? ''] ?? 24_000)
    const budget = Math.max(MIN_BUDGET, Math.min(wanted, (maxOutputTokens ?? Infinity) - 1))
    // A budget has to be smaller than the limit of the answer; where there is no room, the model does not think.
    if (maxOutputTokens !== undefined && budget >= maxOutputTokens) return nothing
    return { ...nothing, thinking: { type: 'enabled', budget_tokens: budget }, budget }
  }
  return effort ? { ...nothing, thinking: { type: 'adaptive' }, effort: EFFORTS[effort] ?? effort } : nothing
}
