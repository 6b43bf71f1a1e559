import type { MessageInitShape } from '@bufbuild/protobuf'
import type { z } from 'zod'
import {
  type AllowedToolsSchema,
  type HostedToolSchema,
  ToolChoice_Mode,
  type ToolChoiceSchema,
  type ToolSchema,
} from '#gen/portico/inference/v1/inference_pb.js'
import type { Offer, OfferedTool } from '../generation/public-field.ts'
import { toCustomTool } from '../generation/to-shared.ts'
import { NATIVE } from './hosted.ts'
import type { input } from './input.ts'
import type { toolChoice, tools } from './tools.ts'

type InputTool = z.output<typeof tools>[number]
/** A tool of the caller itself. */
type Inner = Extract<InputTool, { type: 'namespace' }>['tools'][number]
type Hosted = Exclude<InputTool, { type: 'function' | 'custom' | 'namespace' }>
type Namespace = Extract<InputTool, { type: 'namespace' }>

/** What a body offers. A tool of the caller may be in a namespace. */
export interface ResponseOffer extends Offer<Inner, Hosted> {
  readonly tools: readonly (OfferedTool<Inner> & { readonly namespace: Namespace | undefined })[]
}

/** The members of a body with the tools and the choice among them. */
interface Offering {
  readonly tools?: readonly InputTool[] | null | undefined
  readonly tool_choice?: z.output<typeof toolChoice> | null | undefined
  /** Its `additional_tools` are offered as well. */
  readonly input?: z.output<typeof input> | undefined
}

/** The tools of a body, those of its `additional_tools` among them, as far as its choice allows them. */
export function offerOf(body: Offering): ResponseOffer {
  const { tool_choice: choice } = body
  const all = everyTool(body)
  if (typeof choice !== 'object' || choice?.type !== 'allowed_tools') return all
  const allowed = new Set(choice.tools.map(nameOf))
  const allows = (tool: Inner | Hosted): boolean =>
    allowed.has(nameOf(tool)) || (tool.type === 'mcp' && allowed.has(ANY_SERVER))
  return { tools: all.tools.filter(({ tool }) => allows(tool)), hosted: all.hosted.filter(({ tool }) => allows(tool)) }
}

type Choice = Exclude<z.output<typeof toolChoice>, string>

/** What names a tool: one of the caller its name, one of a provider its type, and a server of MCP its label. */
function nameOf(tool: Exclude<Choice, { type: 'allowed_tools' }> | Inner | Hosted): string {
  const { type } = tool
  if (type === 'function' || type === 'custom') return JSON.stringify([type, tool.name])
  return JSON.stringify(type === 'mcp' && tool.server_label != null ? [type, tool.server_label] : [type])
}

/** A choice of MCP without a label. */
const ANY_SERVER = nameOf({ type: 'mcp' })

function everyTool({ tools, input }: Offering): ResponseOffer {
  const own: ResponseOffer['tools'][number][] = []
  const hosted: ResponseOffer['hosted'][number][] = []
  const offer = { tools: own, hosted }
  const add = (list: readonly InputTool[], at: string): void => {
    for (const [i, tool] of list.entries()) {
      const path = `${at}.${i}`
      if (tool.type === 'function' || tool.type === 'custom') own.push({ tool, namespace: undefined, path })
      else if (tool.type === 'namespace') {
        const { tools: inside } = tool
        for (const [j, inner] of inside.entries()) {
          own.push({ tool: inner, namespace: tool, path: `${path}.tools.${j}` })
        }
      } else hosted.push({ tool, path })
    }
  }
  add(tools ?? [], 'tools')
  if (typeof input === 'string' || input === undefined) return offer
  for (const [i, item] of input.entries()) {
    if (item.type === 'additional_tools') add(item.tools, `input.${i}.tools`)
  }
  return offer
}

export function toTools({ tools }: ResponseOffer): MessageInitShape<typeof ToolSchema>[] {
  return tools.map(({ tool, namespace }) => ({
    name: tool.name,
    description: tool.description || undefined,
    ...(tool.type === 'function'
      ? { parameters: tool.parameters ?? undefined, strict: tool.strict ?? undefined }
      : { custom: toCustomTool(tool.format?.type === 'grammar' ? tool.format : undefined) }),
    namespace: namespace && { name: namespace.name, description: namespace.description || undefined },
    deferred: tool.defer_loading === true,
  }))
}

/** Tools that a provider runs. */
export function toHostedTools({ hosted }: ResponseOffer): MessageInitShape<typeof HostedToolSchema>[] {
  return hosted.map(({ tool }) => ({ format: NATIVE, definition: tool }))
}

const MODES = { auto: ToolChoice_Mode.AUTO, none: ToolChoice_Mode.NONE, required: ToolChoice_Mode.REQUIRED } as const

function toAllowed(
  tools: Extract<Choice, { type: 'allowed_tools' }>['tools'],
): MessageInitShape<typeof AllowedToolsSchema> {
  const names = new Set<string>()
  const hostedTypes = new Set<string>()
  const serverLabels = new Set<string>()
  for (const tool of tools) {
    if (tool.type === 'function' || tool.type === 'custom') names.add(String(tool.name))
    else if (tool.type === 'mcp' && tool.server_label != null) serverLabels.add(String(tool.server_label))
    else hostedTypes.add(tool.type)
  }
  return { names: [...names], hostedTypes: [...hostedTypes], serverLabels: [...serverLabels] }
}

export function toToolChoice({ tool_choice: choice }: Offering): MessageInitShape<typeof ToolChoiceSchema> | undefined {
  if (choice == null) return undefined
  if (typeof choice === 'string') return { mode: MODES[choice] }
  if (choice.type === 'allowed_tools') return { mode: MODES[choice.mode], allowed: toAllowed(choice.tools) }
  if (choice.type === 'function' || choice.type === 'custom') {
    return { mode: ToolChoice_Mode.NAMED, name: String(choice.name) }
  }
  const more = Object.keys(choice).length > 1 ? { definition: choice } : {}
  return { mode: ToolChoice_Mode.HOSTED, name: choice.type, ...more }
}
