import { FinishReason, type Generation } from '#gen/portico/inference/v1/inference_pb.js'
import { isObject } from '#shared/json.ts'
import { fromCosts } from '../generation/cost.ts'
import type { Ending, MessageObject, MessageUsage, StopReason } from './answer.ts'
import { fromPart } from './from-part.ts'
import { ANTHROPIC } from './to-settings.ts'

/** What is known of a message from the start. */
export interface MessageSeed {
  /** `msg_…` */
  readonly id: string
  /** As it was requested. */
  readonly speed: 'fast' | 'standard' | null
}

export type Finished = Pick<
  Generation,
  | 'reason'
  | 'rawReason'
  | 'stopText'
  | 'usage'
  | 'serviceTier'
  | 'costKnown'
  | 'costNanos'
  | 'outputCostNanos'
  | 'providerMetadata'
>

export function fromGeneration(seed: MessageSeed, generation: Generation): MessageObject {
  const { parts, sources } = generation
  const content = parts.flatMap((part, index) => {
    const block = fromPart(
      part,
      sources.filter(({ partIndex }) => partIndex === index),
    )
    return block === undefined ? [] : [block]
  })
  const message = toMessage(seed, generation, content, endOf(generation), fromUsage(seed, generation))
  return { ...besidesOf(generation), ...message }
}

/** The message as it is when a generation starts. */
export function toMessage(
  { id }: MessageSeed,
  { model, providerId }: Pick<Generation, 'model' | 'providerId'>,
  content: MessageObject['content'] = [],
  end: Ending = NOT_ENDED,
  usage: MessageUsage = NOTHING_USED,
): MessageObject {
  return { id, type: 'message', role: 'assistant', model, content, ...end, usage, provider: providerId }
}

const NOT_ENDED: Ending = { stop_reason: null, stop_sequence: null, stop_details: null, container: null }

const REASONS: Readonly<Record<FinishReason, StopReason>> = {
  [FinishReason.UNSPECIFIED]: 'end_turn',
  [FinishReason.STOP]: 'end_turn',
  [FinishReason.LENGTH]: 'max_tokens',
  [FinishReason.TOOL_CALLS]: 'tool_use',
  [FinishReason.CONTENT_FILTER]: 'refusal',
  [FinishReason.OTHER]: 'end_turn',
}
/** Stop reasons that are more precise than the generation's, by the provider's own word. */
const FINER: ReadonlyMap<string, { readonly of: FinishReason; readonly reason: StopReason }> = new Map(
  Object.entries({
    model_context_window_exceeded: { of: FinishReason.LENGTH, reason: 'model_context_window_exceeded' },
    context_length_exceeded: { of: FinishReason.LENGTH, reason: 'model_context_window_exceeded' },
    pause_turn: { of: FinishReason.OTHER, reason: 'pause_turn' },
    compaction: { of: FinishReason.OTHER, reason: 'compaction' },
  }),
)

export function endOf(finished: Finished): Ending {
  const { reason, rawReason = '', stopText } = finished
  const { stop_details, container } = ownOf(finished)
  const finerReason = FINER.get(rawReason)
  const finer = finerReason?.of === reason ? finerReason.reason : undefined
  const isStopped = stopText !== undefined || (reason === FinishReason.STOP && rawReason === 'stop_sequence')
  const stop_reason = finer ?? (isStopped ? 'stop_sequence' : REASONS[reason])
  return {
    stop_reason,
    stop_sequence: stopText ?? null,
    stop_details: isObject(stop_details) ? stop_details : null,
    container: isObject(container) ? container : null,
  }
}

/** Further members of Anthropic's answer, such as what it did to the conversation. */
export function besidesOf(finished: Finished): Record<string, unknown> {
  const { stop_details: _1, container: _2, usage: _3, ...besides } = ownOf(finished)
  return besides
}

/** The members of an answer that only Anthropic has. */
function ownOf({ providerMetadata }: Finished): Record<string, unknown> {
  const own = providerMetadata?.[ANTHROPIC]
  return isObject(own) ? own : {}
}

/** What was used: Anthropic counts what comes of a cache, or goes into it, beside the input. */
export function fromUsage({ speed }: Pick<MessageSeed, 'speed'>, finished: Finished): MessageUsage {
  const { usage, serviceTier, costKnown, costNanos, outputCostNanos } = finished
  const { inputTokens = 0n, outputTokens = 0n, cacheReadTokens = 0n, cacheWriteTokens = 0n } = usage ?? {}
  const fresh = inputTokens - cacheReadTokens - cacheWriteTokens
  const own = ownOf(finished).usage
  return {
    ...NOTHING_USED,
    speed,
    ...(isObject(own) ? ownUsage(own) : {}),
    is_byok: false,
    input_tokens: Number(fresh > 0n ? fresh : 0n),
    output_tokens: Number(outputTokens),
    cache_creation_input_tokens: Number(cacheWriteTokens),
    cache_read_input_tokens: Number(cacheReadTokens),
    output_tokens_details: { thinking_tokens: Number(usage?.reasoningTokens ?? 0n) },
    service_tier: serviceTier ?? null,
    ...(costKnown ? fromCosts(costNanos, outputCostNanos) : {}),
  }
}

const isText = (value: unknown): boolean => typeof value === 'string'
/** The members of a usage that have the form that clients expect. */
const FORMS: ReadonlyMap<string, (value: unknown) => boolean> = new Map([
  ...(['cache_creation', 'server_tool_use'] as const).map((name) => [name, isObject] as const),
  ...(['inference_geo', 'speed'] as const).map((name) => [name, isText] as const),
  ['iterations', Array.isArray],
])

/** Members of a usage that Anthropic alone has, as far as they have the form that they should. */
function ownUsage(own: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(own).filter(([name, value]) => FORMS.get(name)?.(value) ?? true))
}

const NOTHING_USED: MessageUsage = {
  input_tokens: 0,
  output_tokens: 0,
  cache_creation_input_tokens: 0,
  cache_read_input_tokens: 0,
  cache_creation: null,
  output_tokens_details: { thinking_tokens: 0 },
  server_tool_use: null,
  service_tier: null,
  inference_geo: null,
  speed: null,
  iterations: null,
  is_byok: false,
}
