import { ToolChoice_Mode as Mode, type Tool, type ToolChoice } from '#gen/portico/inference/v1/inference_pb.js'
import type { ProviderRequest } from '#services/inference/domain/generation.ts'
import { Rejection } from '#shared/rejection.ts'
import { CHOICES } from '../openai/tools.ts'
import { OPENAI_FORMAT } from './format.ts'

type Item = Record<string, unknown>

/** The members of a request that define the tools and how they are called. */
export function responsesTools(request: ProviderRequest): Item {
  const { tools, hostedTools, toolChoice, parallelToolCalls } = request
  const hosted = hostedTools
    .filter(({ format }) => format === OPENAI_FORMAT)
    .flatMap(({ definition = {} }) => [definition])
  const items: Item[] = [...groups(tools), ...hosted]
  const demanded = toolChoice?.mode === Mode.REQUIRED || toolChoice?.mode === Mode.HOSTED
  if (items.length === 0 && demanded) throw refused()
  if (items.length === 0) return {}
  return {
    tools: items,
    tool_choice: toolChoice === undefined ? undefined : choiceOf(toolChoice, request),
    parallel_tool_calls: parallelToolCalls,
  }
}

/** Tools in their order; those of one namespace are together, at the place of the first. */
function groups(tools: readonly Tool[]): Item[] {
  const byName = new Map<string, Item[]>()
  return tools.flatMap((tool) => {
    const { namespace } = tool
    if (namespace === undefined) return [toolOf(tool)]
    const group = byName.get(namespace.name)
    group?.push(toolOf(tool))
    if (group !== undefined) return []
    const members = [toolOf(tool)]
    byName.set(namespace.name, members)
    return [{ type: 'namespace', name: namespace.name, description: namespace.description ?? '', tools: members }]
  })
}

function toolOf({ name, description, parameters, strict, custom, deferred }: Tool): Item {
  const common = { name, ...(description ? { description } : {}), ...(deferred ? { defer_loading: true } : {}) }
  if (custom === undefined) {
    // By default this API makes every optional argument required; chat completions do not.
    const exact = { strict: strict ?? false }
    return { type: 'function', ...common, parameters: parameters ?? { type: 'object', properties: {} }, ...exact }
  }
  const { syntax, grammar } = custom
  return { type: 'custom', ...common, ...(syntax ? { format: { type: 'grammar', syntax, definition: grammar } } : {}) }
}

function choiceOf({ mode, name, definition: whole }: ToolChoice, { tools, hostedTools }: ProviderRequest): unknown {
  if (mode === Mode.NAMED) {
    const custom = tools.some((tool) => tool.name === name && tool.custom !== undefined)
    return { type: custom ? 'custom' : 'function', name }
  }
  if (mode !== Mode.HOSTED) return CHOICES[mode]
  const isOurs = hostedTools.some(({ format, definition }) => format === OPENAI_FORMAT && definition?.type === name)
  if (isOurs) return whole ?? { type: name }
  throw refused()
}

function refused(): Rejection {
  return new Rejection('REQUEST_INVALID', {
    field: 'tool_choice',
    problem: 'demands a tool that this provider does not have',
  })
}
