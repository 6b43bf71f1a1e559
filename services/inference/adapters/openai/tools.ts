import type { GenerationRequest } from '#services/inference/domain/generation.ts'
import type { Tool, ToolChoice } from '#services/inference/domain/tools.ts'
import { Rejection } from '#shared/rejection.ts'
import type { ChatContext } from './pieces.ts'

type Item = Record<string, unknown>

/** The members of a request that define the tools and how they are called. Only OpenAI accepts custom ones. */
export function openaiTools(request: GenerationRequest, context: ChatContext): Item {
  const { toolChoice, parallelToolCalls } = request
  const tools = request.tools.filter(({ custom }) => custom === undefined || context.profile.dialect === 'openai')
  checkChoice(toolChoice, tools)
  if (tools.length === 0) return {}
  return {
    tools: tools.map((tool) => toolOf(tool, context)),
    tool_choice: toolChoice === undefined ? undefined : choiceOf(toolChoice, tools, context),
    parallel_tool_calls: parallelToolCalls,
  }
}

/** A demanded call that the provider cannot make is refused. */
function checkChoice(choice: ToolChoice | undefined, tools: readonly Tool[]): void {
  if (choice === undefined || choice.mode === 'auto' || choice.mode === 'none') return
  if (choice.mode === 'required' && tools.length > 0) return
  if (choice.mode === 'named' && tools.some(({ name }) => name === choice.name)) return
  throw new Rejection('REQUEST_INVALID', {
    field: 'tool_choice',
    problem: 'demands a tool that this provider does not have',
  })
}

function toolOf({ name, namespace, description, parameters, strict, custom, cache }: Tool, context: ChatContext): Item {
  const { flat, profile } = context
  const common = { name: flat.nameOf(name, namespace?.name), description: description || undefined }
  if (custom !== undefined) {
    const { syntax, grammar: definition } = custom
    const format = syntax ? { format: { type: 'grammar', grammar: { syntax, definition } } } : {}
    return { type: 'custom', custom: { ...common, ...format } }
  }
  const marker = cache?.ttl ? { type: 'ephemeral', ttl: cache.ttl } : { type: 'ephemeral' }
  const marked = cache !== undefined && profile.dialect === 'openrouter' ? { cache_control: marker } : {}
  return { type: 'function', function: { ...common, parameters, strict }, ...marked }
}

function choiceOf(choice: ToolChoice, tools: readonly Tool[], { flat }: ChatContext): unknown {
  if (choice.mode !== 'named' && choice.mode !== 'hosted') return choice.mode
  const tool = tools.find(({ name }) => name === choice.name)
  const called = { name: flat.nameOf(choice.name, tool?.namespace?.name) }
  return tool?.custom === undefined ? { type: 'function', function: called } : { type: 'custom', custom: called }
}
