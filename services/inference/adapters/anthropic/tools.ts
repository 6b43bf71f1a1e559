import { FlatTools } from '#services/inference/domain/flat-tools.ts'
import type { GenerationRequest } from '#services/inference/domain/generation.ts'
import type { Called, Tool, ToolChoice } from '#services/inference/domain/tools.ts'
import type { JsonObject, JsonValue } from '#shared/json.ts'
import { Rejection } from '#shared/rejection.ts'
import { listAt, objectAt, textAt } from '../http/json.ts'
import { ANTHROPIC, extensionOf } from './extension.ts'

/** The member with the input of a tool that accepts any text, since the API only has tools that accept objects. */
const INPUT = 'input'
const CUSTOM_SCHEMA = { type: 'object', properties: { [INPUT]: { type: 'string' } }, required: [INPUT] }

/** What the API's names of tools stand for. */
export type ToolNames = Pick<AnthropicTools, 'called'>

/** The names of tools that are the same here and there. */
export const AS_CALLED: ToolNames = { called: (callId, toolName) => ({ callId, toolName }) }

/** The tools of a request, as the API has and names them. */
export class AnthropicTools {
  readonly #request: GenerationRequest
  readonly #flat: FlatTools
  readonly #custom: ReadonlySet<string>

  constructor(request: GenerationRequest) {
    const { tools } = request
    this.#request = request
    this.#flat = new FlatTools(tools)
    const custom = tools.filter((tool) => tool.custom !== undefined)
    this.#custom = new Set(custom.map(({ name, namespace }) => this.#flat.nameOf(name, namespace?.name)))
  }

  /** The members of a body that concern tools. */
  members(): Record<string, unknown> {
    const { tools, hostedTools, toolChoice, parallelToolCalls } = this.#request
    const own = hostedTools.filter(({ format }) => format === ANTHROPIC).map(({ definition }) => definition)
    checkChoice(toolChoice, tools, own)
    if (tools.length + own.length === 0) return {}
    const more = new Map(listAt(extensionOf(this.#request)?.body?.tools).map((tool) => [objectAt(tool)?.name, tool]))
    const searched = searches(this.#request)
    const listed = tools.map((tool) => this.#tool(tool, more.get(tool.name), searched))
    const alone = parallelToolCalls === false && toolChoice?.mode !== 'none' ? { disable_parallel_tool_use: true } : {}
    const said = toolChoice === undefined && parallelToolCalls !== false
    return { tools: [...listed, ...own], ...(said ? {} : { tool_choice: { ...this.#choice(), ...alone } }) }
  }

  /** The name of a tool in the API. */
  nameOf(name: string, namespace: string | undefined): string {
    return this.#flat.nameOf(name, namespace)
  }

  /** The tool that a name in the API stands for. */
  called(callId: string, name: string): Called {
    const called = { callId, ...this.#flat.called(name) }
    return this.#custom.has(name) ? { ...called, custom: true } : called
  }

  #tool(tool: Tool, more: JsonValue | undefined, searched: boolean): Record<string, unknown> {
    const { name, namespace, custom, parameters, strict, deferred, cache } = tool
    const description = custom === undefined ? tool.description : describe(tool)
    return {
      ...objectAt(more),
      name: this.#flat.nameOf(name, namespace?.name),
      ...(description ? { description } : {}),
      input_schema: custom === undefined ? (parameters ?? { type: 'object', properties: {} }) : CUSTOM_SCHEMA,
      ...(strict === undefined || custom !== undefined ? {} : { strict }),
      ...(deferred && searched ? { defer_loading: true } : {}),
      ...(cache === undefined
        ? {}
        : { cache_control: { type: 'ephemeral', ...(cache.ttl ? { ttl: cache.ttl } : {}) } }),
    }
  }

  #choice(): Record<string, unknown> {
    const { toolChoice, tools, hostedTools } = this.#request
    switch (toolChoice?.mode) {
      case 'required':
        return { type: 'any' }
      case 'none':
        return { type: 'none' }
      case 'named': {
        const namespace = tools.find(({ name }) => name === toolChoice.name)?.namespace?.name
        return { type: 'tool', name: this.#flat.nameOf(toolChoice.name, namespace) }
      }
      case 'hosted': {
        const tool = hostedTools.find(({ definition }) => definition.type === toolChoice.name)
        return { type: 'tool', name: textAt(tool?.definition.name) || toolChoice.name }
      }
      default:
        return { type: 'auto' }
    }
  }
}

/** A demanded call that the API cannot make is refused. */
function checkChoice(choice: ToolChoice | undefined, tools: readonly Tool[], own: readonly JsonObject[]): void {
  const named = choice !== undefined && 'name' in choice ? choice.name : undefined
  const known: Readonly<Record<ToolChoice['mode'], boolean>> = {
    auto: true,
    none: true,
    required: tools.length + own.length > 0,
    named: tools.some(({ name }) => name === named) || own.some(({ name }) => name === named),
    hosted: own.some(({ type }) => type === named),
  }
  if (choice === undefined || known[choice.mode]) return
  const problem = 'demands a tool that this provider does not have'
  throw new Rejection('REQUEST_INVALID', { field: 'tool_choice', problem })
}

/** Whether the model can search for tools; otherwise a deferred one could never be found. */
export function searches({ hostedTools }: GenerationRequest): boolean {
  return hostedTools.some(({ format, definition }) => {
    return format === ANTHROPIC && textAt(definition.type).startsWith('tool_search_tool')
  })
}

function describe({ description = '', custom }: Tool): string {
  if (custom?.grammar === undefined) return description
  const syntax = custom.syntax === 'regex' ? 'regular expression' : 'Lark grammar'
  return `${description}\n\nThe input must follow this ${syntax}:\n${custom.grammar}`.trim()
}

/** The text input of a call of such a tool. */
export function customInput(input: JsonObject): string {
  return typeof input[INPUT] === 'string' ? input[INPUT] : JSON.stringify(input)
}

/** Wraps a text input for the API. */
export function inputOfCustom(text: string): JsonObject {
  return { [INPUT]: text }
}
