import { create } from '@bufbuild/protobuf'
import {
  type GenerationRequest,
  type HostedTool,
  type Message,
  type Part,
  type ProviderExtension,
  type Tool,
  type Warning,
  WarningSchema,
} from '#gen/portico/inference/v1/inference_pb.js'
import { isObject, type JsonObject } from '#shared/json.ts'
import type { Content } from './conversation.ts'

/** Of many tools, or of a long conversation, no more are needed. */
export const MAX_WARNINGS = 64

/** Settings for which some provider has no member: by the name of their field, whether a request contains them. */
const SETTINGS = {
  'sampling.temperature': ({ sampling }) => sampling?.temperature !== undefined,
  'sampling.top_p': ({ sampling }) => sampling?.topP !== undefined,
  'sampling.top_k': ({ sampling }) => sampling?.topK !== undefined,
  'sampling.min_p': ({ sampling }) => sampling?.minP !== undefined,
  'sampling.top_a': ({ sampling }) => sampling?.topA !== undefined,
  'sampling.repetition_penalty': ({ sampling }) => sampling?.repetitionPenalty !== undefined,
  'sampling.frequency_penalty': ({ sampling }) => sampling?.frequencyPenalty !== undefined,
  'sampling.presence_penalty': ({ sampling }) => sampling?.presencePenalty !== undefined,
  'sampling.seed': ({ sampling }) => sampling?.seed !== undefined,
  'sampling.stop': ({ sampling }) => (sampling?.stop.length ?? 0) > 0,
  'sampling.logit_bias': ({ sampling }) => Object.keys(sampling?.logitBias ?? {}).length > 0,
  'sampling.top_log_probabilities': ({ sampling }) => sampling?.topLogProbabilities !== undefined,
  'reasoning.effort': ({ reasoning }) => reasoning?.effort !== undefined,
  'reasoning.summary': ({ reasoning }) => reasoning?.summary !== undefined,
  'reasoning.max_tokens': ({ reasoning }) => reasoning?.maxTokens !== undefined,
  verbosity: ({ verbosity }) => verbosity !== undefined,
  prediction: ({ prediction }) => prediction !== undefined,
  service_tier: ({ serviceTier }) => serviceTier !== undefined && serviceTier !== 'auto',
  speed: ({ speed }) => speed !== undefined && speed !== 'standard',
  response_format: ({ responseFormat }) => responseFormat?.format.case !== undefined,
  'response_format.grammar': ({ responseFormat }) => responseFormat?.format.case === 'grammar',
  'response_format.python': ({ responseFormat }) => responseFormat?.format.case === 'python',
  'provider_body.modalities': ({ providerBody }) => providerBody?.modalities !== undefined,
  'provider_body.image_config': ({ providerBody }) => providerBody?.image_config !== undefined,
  max_tool_calls: ({ maxToolCalls }) => maxToolCalls !== undefined,
  parallel_tool_calls: ({ parallelToolCalls }) => parallelToolCalls !== undefined,
} as const satisfies Readonly<Record<string, (request: GenerationRequest) => boolean>>

/** The same for settings of single tools. */
const TOOL_SETTINGS = {
  'tools.custom': ({ custom }) => custom !== undefined,
  'tools.deferred': ({ deferred }) => deferred,
} as const satisfies Readonly<Record<string, (tool: Tool) => boolean>>

/** A setting, by the name of its field. */
export type Setting = keyof typeof SETTINGS | keyof typeof TOOL_SETTINGS

/** Settings that OpenAI's and Anthropic's models lack, where pictures are made by a tool. */
export const OPEN_MODELS_ONLY = [
  ...['response_format.grammar', 'response_format.python', 'provider_body.modalities', 'provider_body.image_config'],
] as const satisfies readonly Setting[]

const LEFT_OUT = 'This provider has no such setting: it was left out'

/** Warnings about settings of a request for which a provider has no member. */
export function settingsLeftOut(request: GenerationRequest, without: readonly Setting[]): Warning[] {
  return without.flatMap((name) => {
    if (isOfTools(name)) return toolsLeftOut(request.tools, name)
    return SETTINGS[name](request) ? [warningOf(name, LEFT_OUT)] : []
  })
}

function toolsLeftOut(tools: readonly Tool[], name: keyof typeof TOOL_SETTINGS): Warning[] {
  const [, member = ''] = name.split('.')
  const warnings: Warning[] = []
  for (const [i, tool] of tools.entries()) {
    if (!TOOL_SETTINGS[name](tool)) continue
    warnings.push(warningOf(`tools[${i}].${member}`, LEFT_OUT))
    if (warnings.length >= MAX_WARNINGS) break
  }
  return warnings
}

function isOfTools(name: Setting): name is keyof typeof TOOL_SETTINGS {
  return name in TOOL_SETTINGS
}

/** Members of parts for which some provider has no place: by the name of their field, whether a part contains them. */
const PART_MEMBERS = {
  'text.phase': (part) => part.case === 'text' && part.value.phase !== undefined,
  'refusal.phase': (part) => part.case === 'refusal' && part.value.phase !== undefined,
  'text.sources': (part) => part.case === 'text' && part.value.sources.length > 0,
  'image.detail': (part) => part.case === 'image' && (part.value.detail ?? 'auto') !== 'auto',
  /** Without a proof, some providers do not take a thought back. */
  reasoning: (part) => part.case === 'reasoning' && !part.value.signature && !part.value.encrypted,
  'tool_result.failed': (part) => part.case === 'toolResult' && part.value.failed,
} as const satisfies Readonly<Record<string, (part: Content) => boolean>>

/** A member of a part, by the name of its field. */
export type PartMember = keyof typeof PART_MEMBERS

/** Warnings about members of parts for which a provider has no place. */
export function partMembersLeftOut(messages: readonly Message[], without: readonly PartMember[]): Warning[] {
  const warnings: Warning[] = []
  const add = ({ part }: Part, at: string): void => {
    for (const name of without) {
      if (!PART_MEMBERS[name](part)) continue
      warnings.push(warningOf(`${at}.${name}`, 'This provider has no place for it: it was left out'))
    }
    if (part.case !== 'toolResult') return
    for (const [k, inner] of part.value.content.entries()) add(inner, `${at}.tool_result.content[${k}]`)
  }
  for (const [i, { parts }] of messages.entries()) {
    for (const [j, part] of parts.entries()) {
      add(part, `messages[${i}].parts[${j}]`)
      if (warnings.length >= MAX_WARNINGS) return warnings
    }
  }
  return warnings
}

/** Further members of the body for a provider, except those that it lacks. */
export function providerBodyFor(
  { providerBody }: GenerationRequest,
  without: readonly string[],
): JsonObject | undefined {
  if (providerBody === undefined) return undefined
  return Object.fromEntries(Object.entries(providerBody).filter(([name]) => !without.includes(`provider_body.${name}`)))
}

/**
 * Warnings about what only other kinds of providers understand: hosted tools, extensions, items, and thoughts and calls
 * with a proof. `formats`: the provider's own.
 */
export function foreignLeftOut(request: GenerationRequest, ...formats: readonly string[]): Warning[] {
  const { hostedTools, messages } = request
  const members = request.extensions.flatMap((extension, i) => {
    if (formats.includes(extension.format)) return []
    const message = 'It is for another kind of provider: it was left out'
    return membersLeftOut(extension, request).map((name) => warningOf(`extensions[${i}].${name}`, message))
  })
  return [...hostedLeftOut(hostedTools, formats), ...members, ...opaqueLeftOut(messages, formats)]
}

function hostedLeftOut(tools: readonly HostedTool[], formats: readonly string[]): Warning[] {
  const warnings: Warning[] = []
  for (const [i, { format, definition }] of tools.entries()) {
    if (formats.includes(format)) continue
    const message = `This provider has no tool "${String(definition?.type).slice(0, 64)}": it was left out`
    warnings.push(warningOf(`hosted_tools[${i}]`, message))
    if (warnings.length >= MAX_WARNINGS) break
  }
  return warnings
}

function opaqueLeftOut(messages: readonly Message[], formats: readonly string[]): Warning[] {
  const warnings: Warning[] = []
  for (const [i, { parts, providerMetadata }] of messages.entries()) {
    if (providerMetadata !== undefined && !Object.keys(providerMetadata).some((name) => formats.includes(name))) {
      const message = 'Its instructions for another kind of provider were left out'
      warnings.push(warningOf(`messages[${i}]`, message))
      if (warnings.length >= MAX_WARNINGS) return warnings
    }
    for (const [j, part] of parts.entries()) {
      if (!isForeign(part, ...formats)) continue
      const what = part.part.case === 'foreign' ? 'it was left out' : 'its proof was left out'
      warnings.push(warningOf(`messages[${i}].parts[${j}]`, `It is of another kind of provider: ${what}`))
      if (warnings.length >= MAX_WARNINGS) return warnings
    }
  }
  return warnings
}

/** The members of an extension that other kinds of providers are not sent in another form. */
function membersLeftOut({ headers, body = {} }: ProviderExtension, { reasoning }: GenerationRequest): string[] {
  const members = Object.entries(body).filter(([name, value]) => {
    if (name === 'thinking') return reasoning === undefined
    // Its effort is sent to all providers.
    return name !== 'output_config' || !isObject(value) || Object.keys(value).some((key) => key !== 'effort')
  })
  const names = members.map(([name]) => name)
  return Object.keys(headers).length === 0 ? names : ['headers', ...names]
}

/**
 * Whether a part contains opaque data that a provider does not understand, because another kind made it. A part of
 * unknown origin is sent to any provider.
 */
export function isForeign({ part }: Part, ...formats: readonly string[]): boolean {
  if (part.case === 'foreign') return !formats.includes(part.value.format)
  if (part.case !== 'reasoning' && part.case !== 'toolCall') return false
  const { signature, format } = part.value
  const opaque = signature ?? (part.case === 'reasoning' ? part.value.encrypted : undefined)
  return opaque !== undefined && format !== undefined && !formats.includes(format)
}

/** Warnings about members of the request that are not applied to anything yet. */
export function notAppliedWarnings({
  notApplied,
  routing,
}: Pick<GenerationRequest, 'notApplied' | 'routing'>): Warning[] {
  const message = 'It was not applied'
  const preferences = routing?.preferences.map((name) => `routing.${name}`) ?? []
  return [...notApplied, ...preferences].map((field) => warningOf(field, message))
}

/** `field`: member of the request, as the proto names it. */
export function warningOf(field: string, message: string): Warning {
  return create(WarningSchema, { field, message })
}

const MAX_MESSAGE = 500

/**
 * Warnings about what does not reach the model as it was meant, each once. More are added while the request is written.
 */
export class Omissions {
  readonly warnings: Warning[]
  readonly #keys: Set<string>
  #ofConversation = 0

  /** `settings`: warnings known from the request alone. */
  constructor(settings: readonly Warning[] = []) {
    this.warnings = [...settings]
    this.#keys = new Set(settings.map(keyOf))
  }

  /** `field`: member of the request, as the proto names it. */
  add(field: string, message: string): void {
    const isOfConversation = field.startsWith('messages')
    if (isOfConversation && this.#ofConversation >= MAX_WARNINGS) return
    const warning = warningOf(field, message.slice(0, MAX_MESSAGE))
    const key = keyOf(warning)
    if (this.#keys.has(key)) return
    this.#keys.add(key)
    this.warnings.push(warning)
    if (isOfConversation) this.#ofConversation += 1
  }
}

function keyOf({ field, message }: Warning): string {
  return `${field}\n${message}`
}
