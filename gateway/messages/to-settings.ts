import type { MessageInitShape } from '@bufbuild/protobuf'
import {
  type GenerationRequest,
  type GenerationRequestSchema,
  ToolChoice_Mode,
  type ToolSchema,
} from '#gen/portico/inference/v1/inference_pb.js'
import type { JsonObject } from '#shared/json.ts'
import { cleared, structOf, toCacheControl, toJsonFormat, toSharedSettings } from '../generation/to-shared.ts'
import type { MessageSettings } from './body.ts'
import { type CustomTool, isCustomTool, type MessageOffer, offerOf } from './tools.ts'

/** What has a meaning for Anthropic alone. */
export const ANTHROPIC = 'anthropic-claude-v1'

type Generation = Exclude<MessageInitShape<typeof GenerationRequestSchema>, GenerationRequest>

/** All settings of a body: neither the conversation nor its sender. */
export function toSettings(body: MessageSettings, offer: MessageOffer = offerOf(body)): Partial<Generation> {
  const extension = anthropicMembers(body, offer)
  const { service_tier: tier, ...rest } = body
  return {
    ...toSharedSettings({ ...rest, service_tier: tier === 'standard_only' ? 'default' : tier }),
    maxOutputTokens: body.max_tokens ?? undefined,
    tools: offer.tools.map(({ tool }) => toTool(tool)),
    hostedTools: offer.hosted.map(({ tool }) => ({ format: ANTHROPIC, definition: tool })),
    ...toChoice(body),
    sampling: {
      temperature: body.temperature ?? undefined,
      topP: body.top_p ?? undefined,
      topK: body.top_k ?? undefined,
      stop: body.stop_sequences ?? [],
      cleared: cleared({ stop: body.stop_sequences?.length === 0 }),
    },
    reasoning: toReasoning(body),
    responseFormat: toFormat(body),
    speed: body.speed ?? undefined,
    extensions: extension && [{ format: ANTHROPIC, body: extension }],
  }
}

/** The system text of a body; empty: none. */
export function toSystem({ system }: Pick<MessageSettings, 'system'>): string {
  const text = typeof system === 'string' ? system : system?.map((block) => block.text).join('\n\n')
  return text ?? ''
}

function toTool(tool: CustomTool): MessageInitShape<typeof ToolSchema> {
  const { name, description, input_schema: parameters, strict, defer_loading: deferred, cache_control: cache } = tool
  return {
    name,
    description: description || undefined,
    parameters,
    strict: strict ?? undefined,
    deferred: deferred === true,
    cacheControl: toCacheControl(cache),
  }
}

const MODES = { auto: ToolChoice_Mode.AUTO, any: ToolChoice_Mode.REQUIRED, none: ToolChoice_Mode.NONE } as const

function toChoice({
  tools,
  tool_choice: choice,
}: MessageSettings): Pick<Generation, 'toolChoice' | 'parallelToolCalls'> {
  if (choice == null) return {}
  const alone = choice.type === 'none' ? undefined : choice.disable_parallel_tool_use
  const parallelToolCalls = alone == null ? undefined : !alone
  if (choice.type !== 'tool') return { toolChoice: { mode: MODES[choice.type] }, parallelToolCalls }
  const tool = tools?.find(({ name }) => name === choice.name)
  if (tool !== undefined && !isCustomTool(tool)) {
    return { toolChoice: { mode: ToolChoice_Mode.HOSTED, name: tool.type }, parallelToolCalls }
  }
  return { toolChoice: { mode: ToolChoice_Mode.NAMED, name: choice.name }, parallelToolCalls }
}

/** For all providers except Anthropic, which gets the client's own members. */
function toReasoning({ thinking, output_config: output }: MessageSettings): Generation['reasoning'] | undefined {
  const effort = output?.effort ?? undefined
  if (thinking == null) return effort === undefined ? undefined : { effort }
  if (thinking.type === 'disabled') return { effort: 'none' }
  if (thinking.type === 'between_tools') return { effort }
  const summary = thinking.display === 'omitted' ? {} : { summary: 'auto' }
  if (thinking.type === 'adaptive') return { effort, ...summary }
  return { effort, maxTokens: thinking.budget_tokens, ...summary }
}

function toFormat({
  output_config: output,
  output_format: older,
}: MessageSettings): Generation['responseFormat'] | undefined {
  const format = output?.format ?? older
  return format == null ? undefined : toJsonFormat({ name: format.name || 'answer', schema: format.schema })
}

/** What goes to Anthropic alone, in its own form; undefined: nothing. */
function anthropicMembers(body: MessageSettings, offer: MessageOffer): JsonObject | undefined {
  const effort = body.output_config?.effort ?? undefined
  return structOf({
    context_management: body.context_management ?? undefined,
    safeguards: body.safeguards ?? undefined,
    mcp_servers: body.mcp_servers ?? undefined,
    container: body.container ?? undefined,
    inference_geo: body.inference_geo ?? undefined,
    // If the client sets `thinking` itself, that is sent instead of the settings for other providers.
    thinking: body.thinking ?? (effort === undefined ? undefined : null),
    output_config: structOf({ effort, task_budget: body.output_config?.task_budget ?? undefined }),
    tools: moreOfTools(offer),
  })
}

const TOOL_MEMBERS = new Set([
  ...['type', 'name', 'description', 'input_schema', 'strict', 'defer_loading', 'cache_control'],
])

/** What tools say besides, by their names: `[{ name, input_examples: […] }]`. */
function moreOfTools({ tools }: MessageOffer): object[] | undefined {
  const more = tools.flatMap(({ tool }) => {
    const rest = Object.entries(tool).filter(([name]) => !TOOL_MEMBERS.has(name))
    return rest.length === 0 ? [] : [{ name: tool.name, ...Object.fromEntries(rest) }]
  })
  return more.length === 0 ? undefined : more
}
