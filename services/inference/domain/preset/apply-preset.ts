import { create } from '@bufbuild/protobuf'
import {
  type AllowedTools,
  type GenerationRequest,
  GenerationRequestSchema,
  type HostedTool,
  type Message,
  MessageSchema,
  type ProviderExtension,
  Message_Role as Role,
  type Sampling,
  type Tool,
  type ToolChoice,
} from '#gen/portico/inference/v1/inference_pb.js'
import { isObject, type JsonObject, type JsonValue } from '#shared/json.ts'

/** Members of a request that a preset may set. */
export const PRESET_MEMBERS = [
  'tools',
  'hostedTools',
  'toolChoice',
  'parallelToolCalls',
  'maxOutputTokens',
  'maxToolCalls',
  'sampling',
  'reasoning',
  'responseFormat',
  'verbosity',
  'prediction',
  'serviceTier',
  'speed',
  'providerBody',
  'extensions',
  'routing',
  'automaticCache',
  'excludeThoughts',
  'notApplied',
] as const satisfies readonly (keyof GenerationRequest)[]

export type PresetSettings = Pick<GenerationRequest, (typeof PRESET_MEMBERS)[number]>

/** Members of a completed request that a response repeats. */
const SHOWN_MEMBERS = [
  'tools',
  'hostedTools',
  'toolChoice',
  'parallelToolCalls',
  'maxOutputTokens',
  'maxToolCalls',
  'sampling',
  'reasoning',
  'responseFormat',
  'verbosity',
  'serviceTier',
  'extensions',
] as const satisfies readonly (keyof GenerationRequest)[]

/** The settings of a request, and the model, without anything else. */
export function presetSettings(request: GenerationRequest): GenerationRequest {
  return create(GenerationRequestSchema, pick(request, ['model', ...PRESET_MEMBERS]))
}

/** The settings of a request that a response repeats. */
export function shownSettings(request: GenerationRequest): GenerationRequest {
  return create(GenerationRequestSchema, pick(request, SHOWN_MEMBERS))
}

function pick<const K extends keyof GenerationRequest>(request: GenerationRequest, names: readonly K[]) {
  return Object.fromEntries(names.map((name) => [name, request[name]])) as Pick<GenerationRequest, K>
}

type ToolLists = Pick<GenerationRequest, 'tools' | 'hostedTools'>

/**
 * Completes a request with settings of its preset, by their meaning, whichever dialects the two were written in. An
 * object with a single meaning (`reasoning`, `routing`) is replaced as a whole, tools are merged, and the preset's
 * instructions are for requests that do not begin with their own.
 */
export function withPreset(
  request: GenerationRequest,
  settings: PresetSettings,
  systemPrompt: string | undefined,
): GenerationRequest {
  const { tools, hostedTools } = withoutNamesakes(allowedOf(settings, request.toolChoice), request)
  return {
    ...request,
    messages: withInstructions(request.messages, systemPrompt),
    tools: united(tools, request.tools, toolName),
    hostedTools: united(hostedTools, request.hostedTools, hostedName),
    toolChoice: request.toolChoice ?? settings.toolChoice,
    parallelToolCalls: request.parallelToolCalls ?? settings.parallelToolCalls,
    maxOutputTokens: request.maxOutputTokens ?? settings.maxOutputTokens,
    maxToolCalls: request.maxToolCalls ?? settings.maxToolCalls,
    sampling: mergedSampling(settings.sampling, request.sampling),
    reasoning: request.reasoning ?? settings.reasoning,
    responseFormat: request.responseFormat ?? settings.responseFormat,
    verbosity: request.verbosity ?? settings.verbosity,
    prediction: request.prediction ?? settings.prediction,
    // Clients send `auto` if nobody has chosen a tier.
    serviceTier: (request.serviceTier === 'auto' ? undefined : request.serviceTier) ?? settings.serviceTier,
    speed: request.speed ?? settings.speed,
    providerBody: merged(settings.providerBody, request.providerBody),
    extensions: mergedExtensions(extensionsFor(request, settings), request.extensions),
    routing: request.routing ?? settings.routing,
    automaticCache: request.automaticCache ?? settings.automaticCache,
    excludeThoughts:
      request.excludeThoughts ?? (request.reasoning === undefined ? settings.excludeThoughts : undefined),
    notApplied: [...new Set([...request.notApplied, ...settings.notApplied])],
  }
}

/** System messages within a conversation are not instructions for the whole. */
function withInstructions(messages: Message[], systemPrompt: string | undefined): Message[] {
  const [first] = messages
  if (systemPrompt === undefined || (first?.role === Role.SYSTEM && first.parts.length > 0)) return messages
  const parts = [{ part: { case: 'text' as const, value: { text: systemPrompt } } }]
  return [create(MessageSchema, { role: Role.SYSTEM, parts }), ...messages]
}

/**
 * The preset's tools in their order, each replaced by a tool of the request with the same name; then the other tools of
 * the request.
 */
function united<T>(preset: T[], request: T[], nameOf: (tool: T) => string): T[] {
  if (preset.length === 0) return request
  const ownTools = new Map(request.map((tool) => [nameOf(tool), tool]))
  const names = new Set(preset.map(nameOf))
  return [
    ...preset.map((tool) => ownTools.get(nameOf(tool)) ?? tool),
    ...request.filter((tool) => !names.has(nameOf(tool))),
  ]
}

/** The preset's tools that a choice allows; those of the request are there because it allows them. */
function allowedOf(settings: PresetSettings, choice: ToolChoice | undefined): ToolLists {
  const { tools, hostedTools } = settings
  const allowed = choice?.allowed
  if (allowed === undefined) return { tools, hostedTools }
  const allowance = new Allowance(allowed)
  return {
    tools: tools.filter((tool) => allowance.allows(tool)),
    hostedTools: hostedTools.filter((tool) => allowance.allowsHosted(tool)),
  }
}

/** The preset's tools, without those whose name the request uses for a tool of another kind. */
function withoutNamesakes({ tools, hostedTools }: ToolLists, request: ToolLists): ToolLists {
  const names = new Set(request.tools.map(({ name }) => name))
  const hostedNames = new Set(request.hostedTools.map(({ definition }) => definition?.name))
  return {
    tools: tools.filter(({ name }) => !hostedNames.has(name)),
    hostedTools: hostedTools.filter(({ definition }) => !names.has(String(definition?.name))),
  }
}

function toolName({ namespace, name }: Tool): string {
  return JSON.stringify([namespace?.name, name])
}

/**
 * Identifies a hosted tool. Most occur only once, but some, such as MCP servers, occur several times with names of
 * their own. If tools have names, and types with dates, the names identify them.
 */
function hostedName({ format, definition }: HostedTool): string {
  const { type, name, server_label: label, mcp_server_name: server, parameters } = definition ?? {}
  const parameterName = isObject(parameters) ? parameters.name : undefined
  return JSON.stringify([format, name ?? type, label ?? server ?? parameterName])
}

function merged(preset: JsonObject | undefined, request: JsonObject | undefined): JsonObject | undefined {
  return preset === undefined || request === undefined ? (request ?? preset) : { ...preset, ...request }
}

/** The members that a request can switch off, by the names of their fields. */
export const CLEARED: Readonly<Record<string, keyof Sampling>> = {
  stop: 'stop',
  logit_bias: 'logitBias',
  top_log_probabilities: 'topLogProbabilities',
}

function mergedSampling(preset: Sampling | undefined, request: Sampling | undefined): Sampling | undefined {
  if (preset === undefined || request === undefined) return request ?? preset
  const merged = { ...preset, ...request }
  const cleared = request.cleared.map((name) => CLEARED[name])
  const keeps = (member: keyof Sampling): boolean => !cleared.includes(member)
  if (request.stop.length === 0 && keeps('stop')) merged.stop = preset.stop
  if (Object.keys(request.logitBias).length === 0 && keeps('logitBias')) merged.logitBias = preset.logitBias
  if (!keeps('topLogProbabilities')) merged.topLogProbabilities = request.topLogProbabilities
  return merged
}

/**
 * Members that control thinking in the words of one kind of provider: `thinking` and `output_config` are Anthropic's.
 */
const REASONING_WORDS: readonly string[] = ['thinking', 'output_config', 'reasoning']

/** The preset's extensions, without those members if the request itself controls thinking. */
function extensionsFor(request: GenerationRequest, { extensions }: PresetSettings): ProviderExtension[] {
  if (request.reasoning === undefined) return extensions
  return extensions.map(({ body = {}, ...extension }) => {
    const rest = Object.entries(body).filter(([name]) => !REASONING_WORDS.includes(name))
    return { ...extension, body: Object.fromEntries(rest) }
  })
}

/**
 * Merges headers and members one by one, since each has its own meaning. Members about tools are merged by name, like
 * tools.
 */
function mergedExtensions(preset: ProviderExtension[], request: ProviderExtension[]): ProviderExtension[] {
  return united(preset, request, ({ format }) => format).map((extension) => {
    const own = preset.find(({ format }) => format === extension.format)
    if (own === undefined || own === extension) return extension
    const before = own.body?.tools
    const after = extension.body?.tools
    const both: JsonObject =
      Array.isArray(before) && Array.isArray(after) ? { tools: united(before, after, nameIn) } : {}
    const body = merged(merged(own.body, extension.body), both)
    return { ...extension, headers: { ...own.headers, ...extension.headers }, body }
  })
}

function nameIn(tool: JsonValue): string {
  return JSON.stringify(isObject(tool) ? tool.name : tool)
}

class Allowance {
  readonly #names: ReadonlySet<unknown>
  readonly #hostedTypes: ReadonlySet<unknown>
  readonly #serverLabels: ReadonlySet<unknown>

  constructor({ names, hostedTypes, serverLabels }: AllowedTools) {
    this.#names = new Set(names)
    this.#hostedTypes = new Set(hostedTypes)
    this.#serverLabels = new Set(serverLabels)
  }

  allows({ name }: Tool): boolean {
    return this.#names.has(name)
  }

  allowsHosted({ definition }: HostedTool): boolean {
    const { type, server_label: label } = definition ?? {}
    return this.#hostedTypes.has(type) || (type === 'mcp' && this.#serverLabels.has(label))
  }
}
