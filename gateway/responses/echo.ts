import type { CreateResponseBody } from './body.ts'
import type { Echo } from './response.ts'

/** What a response says of its request, with every member that it has (gateway facts 1.4). */
export function requestEcho(body: CreateResponseBody): Echo {
  const { reasoning, text } = body
  return {
    instructions: body.instructions ?? null,
    metadata: body.metadata ?? {},
    parallel_tool_calls: body.parallel_tool_calls ?? true,
    temperature: body.temperature ?? 1,
    top_p: body.top_p ?? 1,
    presence_penalty: body.presence_penalty ?? 0,
    frequency_penalty: body.frequency_penalty ?? 0,
    top_logprobs: body.top_logprobs ?? 0,
    tool_choice: body.tool_choice ?? 'auto',
    tools: (body.tools ?? []).map(echoTool),
    text: {
      format: text?.format ?? { type: 'text' },
      ...(text?.verbosity == null ? {} : { verbosity: text.verbosity }),
    },
    truncation: body.truncation ?? 'disabled',
    reasoning: reasoning == null ? null : { effort: reasoning.effort ?? null, summary: reasoning.summary ?? null },
    max_output_tokens: body.max_output_tokens ?? null,
    max_tool_calls: body.max_tool_calls ?? null,
    previous_response_id: null,
    store: false,
    background: false,
    service_tier: body.service_tier == null || body.service_tier === 'auto' ? 'default' : body.service_tier,
    safety_identifier: body.safety_identifier ?? null,
    prompt_cache_key: body.prompt_cache_key ?? null,
    user: body.user ?? null,
    prompt: null,
  }
}

/** Functions have every member; others are as the request gave them. */
function echoTool(tool: NonNullable<CreateResponseBody['tools']>[number]): Echo['tools'][number] {
  if (tool.type !== 'function') return tool
  const { name, description, parameters, strict, defer_loading } = tool
  return {
    type: 'function',
    name,
    description: description ?? null,
    parameters: parameters ?? null,
    strict: strict ?? null,
    ...(defer_loading === true ? { defer_loading } : {}),
  }
}
