import type { GenerationRequest } from '#services/inference/domain/generation.ts'
import type { ToolChoice } from '#services/inference/domain/tools.ts'
import { openaiMessages } from './messages.ts'

/**
 * Whose reading of chat completions: OpenAI's own, which refuses what it does not know; OpenRouter's, which has more members; or that of
 * the many servers between, which pass over what they do not know.
 */
export type OpenaiDialect = 'openai' | 'openrouter' | 'compatible'

/** The body of a chat completion, whole or streamed. Members of `provider_body` never replace these. */
export function openaiBody(request: GenerationRequest, dialect: OpenaiDialect, whole = false): Record<string, unknown> {
  const { tools, toolChoice, parallelToolCalls, maxOutputTokens, sampling, user, sessionId } = request
  const body = {
    ...request.providerBody,
    model: request.modelId,
    messages: openaiMessages(request.messages, dialect),
    stream: !whole,
    stream_options: whole ? undefined : { include_usage: true },
    [dialect === 'openai' ? 'max_completion_tokens' : 'max_tokens']: maxOutputTokens,
    tools:
      tools.length === 0
        ? undefined
        : tools.map(({ name, description, parameters, strict }) => ({
            type: 'function',
            function: { name, description: description || undefined, parameters, strict },
          })),
    tool_choice: toolChoice === undefined || tools.length === 0 ? undefined : choiceOf(toolChoice),
    parallel_tool_calls: tools.length === 0 ? undefined : parallelToolCalls,
    temperature: sampling?.temperature,
    top_p: sampling?.topP,
    top_k: dialect === 'openai' ? undefined : sampling?.topK,
    frequency_penalty: sampling?.frequencyPenalty,
    presence_penalty: sampling?.presencePenalty,
    seed: sampling?.seed === undefined ? undefined : Number(sampling.seed),
    stop: sampling === undefined || sampling.stop.length === 0 ? undefined : sampling.stop,
    response_format: formatOf(request),
    verbosity: request.verbosity || undefined,
    user: user || undefined,
    ...reasoningOf(request, dialect),
    ...(!sessionId || dialect === 'compatible'
      ? {}
      : { [dialect === 'openai' ? 'prompt_cache_key' : 'session_id']: sessionId }),
  }
  return Object.fromEntries(Object.entries(body).filter(([, value]) => value !== undefined))
}

function choiceOf(choice: ToolChoice): unknown {
  return choice.mode === 'named' ? { type: 'function', function: { name: choice.name } } : choice.mode
}

function formatOf({ responseFormat: format }: GenerationRequest): unknown {
  if (format === undefined) return undefined
  if (format.type === 'json-object') return { type: 'json_object' }
  const { name, schema, strict, description } = format
  return { type: 'json_schema', json_schema: { name, schema, strict, description: description || undefined } }
}

function reasoningOf({ reasoning }: GenerationRequest, dialect: OpenaiDialect): Record<string, unknown> {
  if (reasoning === undefined) return {}
  const { effort, summary, maxTokens } = reasoning
  if (dialect !== 'openrouter') return effort ? { reasoning_effort: effort } : {}
  const asked = {
    ...(effort ? { effort } : {}),
    ...(summary ? { summary } : {}),
    ...(maxTokens ? { max_tokens: maxTokens } : {}),
  }
  return Object.keys(asked).length === 0 ? {} : { reasoning: asked }
}
