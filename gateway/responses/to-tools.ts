import type { MessageInitShape } from '@bufbuild/protobuf'
import type { z } from 'zod'
import {
  type AllowedToolsSchema,
  type HostedToolSchema,
  ToolChoice_Mode,
  type ToolChoiceSchema,
  type ToolSchema,
} from '#gen/portico/inference/v1/inference_pb.js'
import type { GenerationInit } from '../generation/request.ts'
import { NATIVE } from './hosted.ts'
import type { input } from './input.ts'
import type { toolChoice, tools } from './tools.ts'

type Struct = NonNullable<GenerationInit['providerBody']>
type Given = z.output<typeof tools>[number]
/** A tool of the caller itself. */
type Inner = Extract<Given, { type: 'namespace' }>['tools'][number]
type Hosted = Exclude<Given, { type: 'function' | 'custom' | 'namespace' }>
type Namespace = Extract<Given, { type: 'namespace' }>

/** A tool of the caller that is offered, and where it stands in the body. */
interface OfferedTool {
  readonly tool: Inner
  readonly namespace: Namespace | undefined
  readonly path: string
}

/** The tools that a body offers: the caller's, and those that a provider runs. */
interface Offer {
  readonly tools: readonly OfferedTool[]
  readonly hosted: readonly { readonly tool: Hosted; readonly path: string }[]
}

/** The members of a body with the tools and the choice among them. */
interface Offering {
  readonly tools?: readonly Given[] | null | undefined
  readonly tool_choice?: z.output<typeof toolChoice> | null | undefined
  /** Its `additional_tools` are offered as well. */
  readonly input?: z.output<typeof input> | undefined
}

/** The offers of bodies: every name of a tool's field needs them again. */
const known = new WeakMap<Offering, Offer>()

/** The tools of a body, those of its `additional_tools` among them, as far as its choice allows them. */
export function offerOf(body: Offering): Offer {
  const offer = known.get(body) ?? toOffer(body)
  known.set(body, offer)
  return offer
}

function toOffer(body: Offering): Offer {
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
function nameOf(named: Exclude<Choice, { type: 'allowed_tools' }> | Inner | Hosted): string {
  const { type } = named
  if (type === 'function' || type === 'custom') return JSON.stringify([type, named.name])
  return JSON.stringify(type === 'mcp' && named.server_label != null ? [type, named.server_label] : [type])
}

/** A choice of MCP without a label. */
const ANY_SERVER = nameOf({ type: 'mcp' })

function everyTool({ tools, input }: Offering): Offer {
  const offer = { tools: [] as OfferedTool[], hosted: [] as Offer['hosted'][number][] }
  const add = (list: readonly Given[], at: string): void => {
    for (const [i, tool] of list.entries()) {
      const path = `${at}.${i}`
      if (tool.type === 'function' || tool.type === 'custom') offer.tools.push({ tool, namespace: undefined, path })
      else if (tool.type === 'namespace') {
        const { tools: inside } = tool
        for (const [j, inner] of inside.entries()) {
          offer.tools.push({ tool: inner, namespace: tool, path: `${path}.tools.${j}` })
        }
      } else offer.hosted.push({ tool, path })
    }
  }
  add(tools ?? [], 'tools')
  if (typeof input === 'string' || input === undefined) return offer
  for (const [i, item] of input.entries()) {
    if (item.type === 'additional_tools') add(item.tools, `input.${i}.tools`)
  }
  return offer
}

/** Tools of the caller. */
export function toTools({ tools }: Offer): MessageInitShape<typeof ToolSchema>[] {
  return tools.map(({ tool, namespace }) => ({
    name: tool.name,
    description: tool.description || undefined,
    ...(tool.type === 'function'
      ? { parameters: (tool.parameters ?? undefined) as Struct | undefined, strict: tool.strict ?? undefined }
      : { custom: toCustom(tool) }),
    namespace: namespace && { name: namespace.name, description: namespace.description || undefined },
    deferred: tool.defer_loading === true,
  }))
}

function toCustom({ format }: Extract<Inner, { type: 'custom' }>) {
  return format?.type === 'grammar' ? { syntax: format.syntax, grammar: format.definition } : {}
}

/** Tools that a provider runs. */
export function toHostedTools({ hosted }: Offer): MessageInitShape<typeof HostedToolSchema>[] {
  return hosted.map(({ tool }) => ({ format: NATIVE, definition: tool as Struct }))
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

/** Whether and which tools are called. */
export function toToolChoice({ tool_choice: choice }: Offering): MessageInitShape<typeof ToolChoiceSchema> | undefined {
  if (choice == null) return undefined
  if (typeof choice === 'string') return { mode: MODES[choice] }
  if (choice.type === 'allowed_tools') return { mode: MODES[choice.mode], allowed: toAllowed(choice.tools) }
  if (choice.type === 'function' || choice.type === 'custom') {
    return { mode: ToolChoice_Mode.NAMED, name: String(choice.name) }
  }
  const more = Object.keys(choice).length > 1 ? { definition: choice as Struct } : {}
  return { mode: ToolChoice_Mode.HOSTED, name: choice.type, ...more }
}
