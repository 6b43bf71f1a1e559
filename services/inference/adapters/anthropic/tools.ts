import { ToolChoice_Mode as Mode, type Tool, type ToolChoice } from '#gen/portico/inference/v1/inference_pb.js'
import { FlatTools } from '#services/inference/domain/flat-tools.ts'
import type { ProviderRequest } from '#services/inference/domain/generation.ts'
import type { CallInit } from '#services/inference/domain/open-part.ts'
import type { JsonObject, JsonValue } from '#shared/json.ts'
import { Rejection } from '#shared/rejection.ts'
import { listAt, objectAt, textAt } from '../http/json.ts'
import { ANTHROPIC, extensionOf } from './extension.ts'

/** The member with the input of a tool that accepts any text, since the API only has tools that accept objects. */
const INPUT = 'input'
const CUSTOM_SCHEMA = { type: 'object', properties: { [INPUT]: { type: 'string' } }, required: [INPUT] }

/** What the API's names of tools stand for. */
export type ToolNames = Pick<AnthropicTools, 'callOf'>

/** The names of tools that are the same here and there. */
export const AS_CALLED: ToolNames = { callOf: (callId, name) => ({ callId, name }) }

/** The tools of a request, as the API has and names them. */
export class AnthropicTools {
  readonly #request: ProviderRequest
  readonly #flat: FlatTools
  readonly #custom: ReadonlySet<string>

  constructor(request: ProviderRequest) {
    const { tools } = request
    this.#request = request
    this.#flat = new FlatTools(tools)
    const custom = tools.filter((tool) => tool.custom !== undefined)
    this.#custom = new Set(custom.map(({ name, namespace }) => this.#flat.nameOf(name, namespace?.name)))
  }

  /** The members of a body that concern tools. */
  members(): Record<string, unknown> {
    const { tools, hostedTools, toolChoice, parallelToolCalls } = this.#request
    const own = hostedTools.filter(({ format }) => format === ANTHROPIC).flatMap(({ definition = {} }) => [definition])
    checkChoice(toolChoice, tools, own)
    if (tools.length + own.length === 0) return {}
    const more = new Map(listAt(extensionOf(this.#request)?.body?.tools).map((tool) => [objectAt(tool)?.name, tool]))
    const searched = searches(this.#request)
    const listed = tools.map((tool) => this.#tool(tool, more.get(tool.name), searched))
    const alone =
      parallelToolCalls === false && toolChoice?.mode !== Mode.NONE ? { disable_parallel_tool_use: true } : {}
    const isDefault = toolChoice === undefined && parallelToolCalls !== false
    return { tools: [...listed, ...own], ...(isDefault ? {} : { tool_choice: { ...this.#choice(), ...alone } }) }
  }

  /** The name of a tool in the API. */
  nameOf(name: string, namespace: string | undefined): string {
    return this.#flat.nameOf(name, namespace)
  }

  /** The tool that a name in the API stands for. */
  callOf(callId: string, name: string): CallInit {
    return { callId, ...this.#flat.toolOf(name), custom: this.#custom.has(name) }
  }

  #tool(tool: Tool, more: JsonValue | undefined, searched: boolean): Record<string, unknown> {
    const { name, namespace, custom, parameters, strict, deferred, cacheControl: cache } = tool
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
      case Mode.REQUIRED:
        return { type: 'any' }
      case Mode.NONE:
        return { type: 'none' }
      case Mode.NAMED: {
        const { name = '' } = toolChoice
        const namespace = tools.find((tool) => tool.name === name)?.namespace?.name
        return { type: 'tool', name: this.#flat.nameOf(name, namespace) }
      }
      case Mode.HOSTED: {
        const tool = hostedTools.find(({ definition }) => definition?.type === toolChoice.name)
        return { type: 'tool', name: textAt(tool?.definition?.name) || toolChoice.name }
      }
      default:
        return { type: 'auto' }
    }
  }
}

/** A demanded call that the API cannot make is refused. */
function checkChoice(choice: ToolChoice | undefined, tools: readonly Tool[], own: readonly JsonObject[]): void {
  if (choice === undefined) return
  const { mode, name: toolName } = choice
  const isHere: Readonly<Record<Mode, boolean>> = {
    [Mode.UNSPECIFIED]: false,
    [Mode.AUTO]: true,
    [Mode.NONE]: true,
    [Mode.REQUIRED]: tools.length + own.length > 0,
    [Mode.NAMED]: tools.some(({ name }) => name === toolName) || own.some(({ name }) => name === toolName),
    [Mode.HOSTED]: own.some(({ type }) => type === toolName),
  }
  if (isHere[mode]) return
  const problem = 'demands a tool that this provider does not have'
  throw new Rejection('REQUEST_INVALID', { field: 'tool_choice', problem })
}

/** Whether the model can search for tools; otherwise a deferred one could never be found. */
export function searches({ hostedTools }: ProviderRequest): boolean {
  return hostedTools.some(({ format, definition }) => {
    return format === ANTHROPIC && textAt(definition?.type).startsWith('tool_search_tool')
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
