import type { MessageInitShape } from '@bufbuild/protobuf'
import { ToolChoice_Mode, type ToolSchema } from '#gen/portico/inference/v1/inference_pb.js'
import { itemsOf, membersOf } from '#shared/json.ts'
import type { Offer } from '../generation/public-field.ts'
import type { GenerationInit } from '../generation/request.ts'
import {
  cleared,
  picturesBody,
  picturesNotApplied,
  toCacheControl,
  toCustomTool,
  toExclusion,
  toJsonFormat,
  toReasoning,
  toSharedSettings,
} from '../generation/to-shared.ts'
import { type ChatSettings, nameOf, wantedBy } from './body.ts'

/** The format of tools that a provider runs for a chat. */
const OPENAI = 'openai-responses-v1'

/** The settings of a generation: everything in the request apart from the conversation and its sender. */
export function toSettings(body: ChatSettings, offer: ChatOffer = offerOf(body)): GenerationInit {
  const { reasoning, reasoning_effort: effort, transforms } = body
  const { notApplied = [], ...shared } = toSharedSettings(body)
  return {
    ...shared,
    maxOutputTokens: body.max_completion_tokens ?? body.max_tokens ?? undefined,
    parallelToolCalls: body.parallel_tool_calls ?? undefined,
    reasoning: toReasoning(effort == null ? reasoning : { ...reasoning, effort }),
    excludeThoughts: toExclusion(reasoning?.exclude, body.include_reasoning),
    responseFormat: toFormat(body.response_format),
    verbosity: body.verbosity ?? undefined,
    prediction: toPrediction(body.prediction),
    providerBody: picturesBody(body),
    toolChoice: toChoice(body),
    tools: offer.tools.map(({ tool }) => toTool(tool)),
    hostedTools: offer.hosted.map(({ tool }) => ({ format: OPENAI, definition: tool })),
    sampling: toSampling(body),
    notApplied: [
      ...notApplied,
      ...(transforms == null || transforms.length === 0 ? [] : ['transforms']),
      ...picturesNotApplied(body),
    ],
  }
}

/** The system text of a conversation, read from whatever was sent as one. */
export function toSystem({ messages }: Pick<ChatSettings, 'messages'>): string {
  return itemsOf(messages).flatMap(systemText).join('\n\n')
}

function systemText(message: unknown): string[] {
  const { role, content } = membersOf(message)
  if (role !== 'system' && role !== 'developer') return []
  const parts = Array.isArray(content) ? itemsOf(content) : [{ text: content }]
  return parts.flatMap((part) => {
    const { text } = membersOf(part)
    return typeof text === 'string' && text !== '' ? [text] : []
  })
}

function toSampling(body: ChatSettings): NonNullable<GenerationInit['sampling']> {
  // An empty text stops nothing.
  const stop = body.stop == null ? undefined : [body.stop].flat().filter((text) => text !== '')
  return {
    temperature: body.temperature ?? undefined,
    topP: body.top_p ?? undefined,
    topK: body.top_k ?? undefined,
    minP: body.min_p ?? undefined,
    topA: body.top_a ?? undefined,
    frequencyPenalty: body.frequency_penalty ?? undefined,
    presencePenalty: body.presence_penalty ?? undefined,
    repetitionPenalty: body.repetition_penalty ?? undefined,
    seed: body.seed == null ? undefined : BigInt(body.seed),
    stop,
    logitBias: body.logit_bias ?? undefined,
    topLogProbabilities: body.logprobs === true ? (body.top_logprobs ?? 0) : undefined,
    cleared: cleared({
      stop: stop?.length === 0,
      logit_bias: body.logit_bias != null && Object.keys(body.logit_bias).length === 0,
      top_log_probabilities: body.logprobs === false,
    }),
  }
}

function toTool(tool: CallableTool): MessageInitShape<typeof ToolSchema> {
  if (tool.type === 'function') {
    const { name, description, parameters, strict } = tool.function
    return {
      name,
      description: description || undefined,
      parameters: parameters ?? undefined,
      strict: strict ?? undefined,
      cacheControl: toCacheControl(tool.cache_control),
    }
  }
  const { name, description, format } = tool.custom
  const custom = toCustomTool(format?.type === 'grammar' ? format.grammar : undefined)
  return { name, description: description || undefined, custom, cacheControl: toCacheControl(tool.cache_control) }
}

const MODES = { auto: ToolChoice_Mode.AUTO, none: ToolChoice_Mode.NONE, required: ToolChoice_Mode.REQUIRED } as const

function toChoice({ tool_choice: choice }: ChatSettings): GenerationInit['toolChoice'] | undefined {
  if (choice == null) return undefined
  if (typeof choice === 'string') return { mode: MODES[choice] }
  switch (choice.type) {
    case 'function':
      return { mode: ToolChoice_Mode.NAMED, name: choice.function.name }
    case 'custom':
      return { mode: ToolChoice_Mode.NAMED, name: choice.custom.name }
    case 'allowed_tools':
      return { mode: MODES[choice.allowed_tools.mode], allowed: { names: [...new Set(wantedBy(choice))] } }
    default:
      return { mode: ToolChoice_Mode.HOSTED, name: choice.type }
  }
}

function toFormat(format: ChatSettings['response_format']): GenerationInit['responseFormat'] | undefined {
  if (format == null) return undefined
  // Set explicitly, so that it takes precedence over a preset.
  if (format.type === 'text') return {}
  if (format.type === 'json_object') return { format: { case: 'jsonObject', value: {} } }
  if (format.type === 'python') return { format: { case: 'python', value: {} } }
  if (format.type === 'grammar') return { format: { case: 'grammar', value: { grammar: format.grammar } } }
  return toJsonFormat(format.json_schema)
}

function toPrediction(prediction: ChatSettings['prediction']): string | undefined {
  if (prediction == null) return undefined
  const { content } = prediction
  return typeof content === 'string' ? content : content.map(({ text }) => text).join('')
}

type Tool = NonNullable<ChatSettings['tools']>[number]
/** A tool of the caller itself. */
export type CallableTool = Extract<Tool, { type: 'function' | 'custom' }>
/** What a body offers. */
export type ChatOffer = Offer<CallableTool, Exclude<Tool, CallableTool>>

/** The tools of a body, as far as its choice allows them. */
export function offerOf({ tools, tool_choice: choice }: ChatSettings): ChatOffer {
  const allowed = typeof choice === 'object' && choice?.type === 'allowed_tools' ? new Set(wantedBy(choice)) : undefined
  const own: ChatOffer['tools'][number][] = []
  const hosted: ChatOffer['hosted'][number][] = []
  for (const [i, tool] of (tools ?? []).entries()) {
    if (allowed?.has(nameOf(tool)) === false) continue
    const path = `tools.${i}`
    if (tool.type === 'function' || tool.type === 'custom') own.push({ tool, path })
    else hosted.push({ tool, path })
  }
  return { tools: own, hosted }
}
