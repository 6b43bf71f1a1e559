import {
  type AppliedPreset,
  type GenerationRequest,
  type ResponseFormat,
  type ToolChoice,
  ToolChoice_Mode,
  type Tool as ToolMessage,
} from '#gen/portico/inference/v1/inference_pb.js'
import type { CreateResponseBody } from './body.ts'
import { NATIVE } from './hosted.ts'
import type { Echo } from './response.ts'
import type { ResponseOffer } from './to-tools.ts'

type Tool = NonNullable<CreateResponseBody['tools']>[number]

/** The members of a response that repeat its request, all of them present. */
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
      verbosity: text?.verbosity ?? undefined,
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
function echoTool(tool: Tool): Echo['tools'][number] {
  if (tool.type !== 'function') return tool
  const { name, description, parameters, strict, defer_loading } = tool
  return {
    type: 'function',
    name,
    description: description ?? null,
    parameters: parameters ?? null,
    strict: strict ?? null,
    defer_loading: defer_loading || undefined,
  }
}

/** The same for a request that a preset completed. */
export function presetEcho(
  body: CreateResponseBody,
  { settings, systemPrompt }: AppliedPreset,
  offer: ResponseOffer,
): Echo {
  if (settings === undefined) return requestEcho(body)
  const tools = withAdded(body.tools ?? [], addedTo(offer, settings))
  const completed = Object.entries(fromSettings(settings)).filter(([, value]) => value !== undefined)
  return requestEcho({
    ...body,
    ...Object.fromEntries(completed),
    instructions: systemPrompt ?? body.instructions,
    tools,
    // What the body chooses among is said in its own words.
    ...(body.tool_choice == null ? {} : { tool_choice: body.tool_choice }),
  })
}

/** The settings of a request as a body says them. */
function fromSettings(settings: GenerationRequest) {
  const { sampling, reasoning, toolChoice } = settings
  const own = settings.extensions.find(({ format }) => format === NATIVE)?.body
  return {
    temperature: sampling?.temperature,
    top_p: sampling?.topP,
    presence_penalty: sampling?.presencePenalty,
    frequency_penalty: sampling?.frequencyPenalty,
    top_logprobs: sampling?.topLogProbabilities,
    parallel_tool_calls: settings.parallelToolCalls,
    max_output_tokens: settings.maxOutputTokens,
    max_tool_calls: settings.maxToolCalls,
    service_tier: settings.serviceTier as CreateResponseBody['service_tier'],
    truncation: own?.truncation as CreateResponseBody['truncation'],
    reasoning: reasoning as CreateResponseBody['reasoning'],
    tool_choice: toolChoice && fromChoice(toolChoice, settings.tools),
    text: {
      format: fromFormat(settings.responseFormat),
      verbosity: settings.verbosity as 'low' | undefined,
    },
  }
}

type Added = Pick<GenerationRequest, 'tools' | 'hostedTools'>

/** The tools of a completed request that the body itself does not offer. */
function addedTo(own: ResponseOffer, { tools, hostedTools }: Added): Added {
  const names = new Set(own.tools.map(({ tool, namespace }) => keyOf(tool.name, namespace?.name)))
  const definitions = new Set(own.hosted.map(({ tool }) => JSON.stringify(tool)))
  return {
    tools: tools.filter(({ name, namespace }) => !names.has(keyOf(name, namespace?.name))),
    hostedTools: hostedTools.filter(
      ({ format, definition }) => format !== NATIVE || !definitions.has(JSON.stringify(definition)),
    ),
  }
}

function keyOf(name: string, namespace: string | undefined): string {
  return JSON.stringify([namespace, name])
}

/** The body's own tools as they are, then the added ones, in the body's own namespace if they are of one. */
function withAdded(own: readonly Tool[], { tools, hostedTools }: Added): Tool[] {
  const groups = new Map<string, (Tool & { type: 'namespace' })['tools']>()
  const all = own.map((tool): Tool => {
    if (tool.type !== 'namespace' || groups.has(tool.name)) return tool
    const inside = [...tool.tools]
    groups.set(tool.name, inside)
    return { ...tool, tools: inside }
  })
  for (const tool of tools) {
    const { namespace } = tool
    const group = namespace && groups.get(namespace.name)
    if (namespace === undefined) all.push(fromTool(tool))
    else if (group !== undefined) group.push(fromTool(tool))
    else {
      const { name, description } = namespace
      const inside = [fromTool(tool)]
      groups.set(name, inside)
      all.push({ type: 'namespace', name, description, tools: inside })
    }
  }
  return [...all, ...hostedTools.map(({ definition }) => definition as Tool)]
}

function fromTool({ name, description, parameters, strict, custom, deferred }: ToolMessage) {
  const common = { name, description, defer_loading: deferred || undefined }
  if (custom === undefined) {
    return { type: 'function', ...common, parameters, strict } as const
  }
  const { syntax, grammar = '' } = custom
  const format = { type: 'grammar', syntax: syntax as 'lark', definition: grammar } as const
  return { type: 'custom', ...common, format: syntax ? format : undefined } as const
}

function fromChoice({ mode, name = '', definition }: ToolChoice, tools: readonly ToolMessage[]): Echo['tool_choice'] {
  const custom = tools.some((tool) => tool.name === name && tool.custom !== undefined)
  switch (mode) {
    case ToolChoice_Mode.NAMED:
      return { type: custom ? 'custom' : 'function', name }
    case ToolChoice_Mode.HOSTED:
      return (definition ?? { type: name }) as Echo['tool_choice']
    case ToolChoice_Mode.REQUIRED:
      return 'required'
    case ToolChoice_Mode.NONE:
      return 'none'
    default:
      return 'auto'
  }
}

function fromFormat(format: ResponseFormat | undefined): Echo['text']['format'] | undefined {
  switch (format?.format.case) {
    case 'jsonObject':
      return { type: 'json_object' }
    case 'jsonSchema': {
      const { name, schema = {}, strict, description } = format.format.value
      return { type: 'json_schema', name, schema, strict, description }
    }
    default:
      return undefined
  }
}
