import { ToolChoice_Mode as Mode, type Tool, type ToolChoice } from '#gen/portico/inference/v1/inference_pb.js'
import type { ProviderRequest } from '#services/inference/domain/generation.ts'
import { Rejection } from '#shared/rejection.ts'
import type { ChatContext } from './pieces.ts'

type Item = Record<string, unknown>

/** The modes of a choice that the API has words for. */
export const CHOICES: { readonly [mode in Mode]?: string } = {
  [Mode.AUTO]: 'auto',
  [Mode.NONE]: 'none',
  [Mode.REQUIRED]: 'required',
}

/** The members of a request that define the tools and how they are called. Only OpenAI accepts custom ones. */
export function openaiTools(request: ProviderRequest, context: ChatContext): Item {
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
  if (choice === undefined || choice.mode === Mode.AUTO || choice.mode === Mode.NONE) return
  if (choice.mode === Mode.REQUIRED && tools.length > 0) return
  if (choice.mode === Mode.NAMED && tools.some(({ name }) => name === choice.name)) return
  throw new Rejection('REQUEST_INVALID', {
    field: 'tool_choice',
    problem: 'demands a tool that this provider does not have',
  })
}

function toolOf(
  { name, namespace, description, parameters, strict, custom, cacheControl }: Tool,
  context: ChatContext,
): Item {
  const { flat, profile } = context
  const common = { name: flat.nameOf(name, namespace?.name), description: description || undefined }
  if (custom !== undefined) {
    const { syntax, grammar: definition } = custom
    const format = syntax ? { format: { type: 'grammar', grammar: { syntax, definition } } } : {}
    return { type: 'custom', custom: { ...common, ...format } }
  }
  const marker = { type: 'ephemeral', ttl: cacheControl?.ttl || undefined }
  const mark = cacheControl !== undefined && profile.dialect === 'openrouter' ? { cache_control: marker } : {}
  return { type: 'function', function: { ...common, parameters, strict }, ...mark }
}

function choiceOf({ mode, name = '' }: ToolChoice, tools: readonly Tool[], { flat }: ChatContext): unknown {
  const word = CHOICES[mode]
  if (word !== undefined) return word
  const tool = tools.find((each) => each.name === name)
  const call = { name: flat.nameOf(name, tool?.namespace?.name) }
  return tool?.custom === undefined ? { type: 'function', function: call } : { type: 'custom', custom: call }
}
