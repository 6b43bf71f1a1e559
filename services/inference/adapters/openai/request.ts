import type { Sampling, Warning } from '#gen/portico/inference/v1/inference_pb.js'
import { FlatTools } from '#services/inference/domain/flat-tools.ts'
import type { ProviderRequest } from '#services/inference/domain/generation.ts'
import {
  foreignLeftOut,
  OPEN_MODELS_ONLY,
  type PartMember,
  partMembersLeftOut,
  providerBodyFor,
  type Setting,
  settingsLeftOut,
} from '#services/inference/domain/left-out.ts'
import { Rejection } from '#shared/rejection.ts'
import { openaiMessages } from './conversation.ts'
import type { ChatProfile, OpenaiDialect } from './dialect.ts'
import { type ChatContext, proofFormats } from './pieces.ts'
import { openaiTools } from './tools.ts'

const NOTHING_LEFT = 'must have content that this provider supports'

/** The body of a chat completion request, whole or streamed. Members of `provider_body` never replace these. */
export function openaiBody(
  request: ProviderRequest,
  { profile, omissions }: Pick<ChatContext, 'profile' | 'omissions'>,
  whole = false,
): Record<string, unknown> {
  const { maxOutputTokens, user, providerSession, prediction, serviceTier, speed } = request
  const { dialect } = profile
  const formats = proofFormats(profile, request.modelId)
  const context = { profile, omissions, formats, flat: new FlatTools(request.tools) }
  const messages = openaiMessages(request.messages, context)
  if (messages.length === 0) throw new Rejection('REQUEST_INVALID', { field: 'messages', problem: NOTHING_LEFT })
  const fast = speed === 'fast' ? 'priority' : undefined
  const body = {
    ...providerBodyFor(request, CHAT_WITHOUT[dialect]),
    model: request.modelId,
    messages,
    stream: !whole,
    stream_options: whole ? undefined : { include_usage: true },
    [dialect === 'openai' ? 'max_completion_tokens' : 'max_tokens']: maxOutputTokens,
    ...openaiTools(request, context),
    max_tool_calls: dialect === 'openrouter' ? request.maxToolCalls : undefined,
    ...samplingOf(request.sampling, context),
    response_format: formatOf(request, dialect),
    verbosity: request.verbosity || undefined,
    prediction: prediction === undefined ? undefined : { type: 'content', content: prediction },
    service_tier: serviceTier || (dialect === 'compatible' ? undefined : fast),
    user: user || undefined,
    ...reasoningOf(request, context),
    ...(!providerSession || dialect === 'compatible'
      ? {}
      : { [dialect === 'openai' ? 'prompt_cache_key' : 'session_id']: providerSession }),
  }
  return Object.fromEntries(Object.entries(body).filter(([, value]) => value !== undefined))
}

function formatOf({ responseFormat: format }: ProviderRequest, dialect: OpenaiDialect): unknown {
  switch (format?.format.case) {
    case 'jsonObject':
      return { type: 'json_object' }
    case 'grammar':
      return dialect === 'openai' ? undefined : { type: 'grammar', grammar: format.format.value.grammar }
    case 'python':
      return dialect === 'openai' ? undefined : { type: 'python' }
    case 'jsonSchema': {
      const { name, schema = {}, strict, description } = format.format.value
      return { type: 'json_schema', json_schema: { name, schema, strict, description: description || undefined } }
    }
  }
}

function reasoningOf({ reasoning }: ProviderRequest, { profile }: ChatContext): Record<string, unknown> {
  if (reasoning === undefined) return {}
  const { effort, summary, maxTokens } = reasoning
  if (profile.dialect !== 'openrouter') return effort ? { reasoning_effort: effort } : {}
  const members = {
    ...(effort ? { effort } : {}),
    ...(summary ? { summary } : {}),
    ...(maxTokens ? { max_tokens: maxTokens } : {}),
  }
  return Object.keys(members).length === 0 ? {} : { reasoning: members }
}

/** Maximum number of stop texts that OpenAI accepts. */
const MAX_STOPS = 4

/** The members of a request that control sampling. Some of them exist only on servers of open models. */
function samplingOf(sampling: Sampling | undefined, { profile, omissions }: ChatContext): Record<string, unknown> {
  if (sampling === undefined) return {}
  const { topLogProbabilities: alternatives, logitBias, stop, seed } = sampling
  const common = {
    temperature: sampling.temperature,
    top_p: sampling.topP,
    frequency_penalty: sampling.frequencyPenalty,
    presence_penalty: sampling.presencePenalty,
    seed: seed === undefined ? undefined : Number(seed),
    stop: stop.length === 0 ? undefined : stop,
    logit_bias: Object.keys(logitBias).length > 0 ? logitBias : undefined,
    logprobs: alternatives === undefined ? undefined : true,
    top_logprobs: alternatives || undefined,
  }
  const { topK, minP, topA, repetitionPenalty } = sampling
  if (profile.dialect !== 'openai') {
    const more = { top_k: topK, min_p: minP, repetition_penalty: repetitionPenalty }
    return { ...common, ...more, top_a: profile.dialect === 'openrouter' ? topA : undefined }
  }
  if (stop.length <= MAX_STOPS) return common
  omissions.add('sampling.stop', `Only the first ${MAX_STOPS} texts were sent`)
  return { ...common, stop: stop.slice(0, MAX_STOPS) }
}

/** Settings for which a dialect has no member. */
export const CHAT_WITHOUT: Readonly<Record<OpenaiDialect, readonly Setting[]>> = {
  openai: [
    ...(['sampling.top_k', 'sampling.min_p', 'sampling.top_a', 'sampling.repetition_penalty'] as const),
    ...(['reasoning.summary', 'reasoning.max_tokens', 'max_tool_calls', ...OPEN_MODELS_ONLY] as const),
    'tools.deferred',
  ],
  compatible: [
    ...(['sampling.top_a', 'reasoning.summary', 'reasoning.max_tokens', 'speed', 'max_tool_calls'] as const),
    ...(['tools.custom', 'tools.deferred'] as const),
  ],
  openrouter: ['tools.custom', 'tools.deferred'],
}

const NO_PLACE: readonly PartMember[] = ['text.phase', 'refusal.phase', 'text.sources', 'tool_result.failed']

/**
 * The settings of a request for which a dialect of chat completions has no member. OpenRouter accepts proofs of every
 * kind.
 */
export function openaiWarnings(request: ProviderRequest, profile: ChatProfile): Warning[] {
  const { dialect } = profile
  const opaque = dialect === 'openrouter' ? { ...request, messages: [] } : request
  return [
    ...settingsLeftOut(request, CHAT_WITHOUT[dialect]),
    ...foreignLeftOut(opaque, ...proofFormats(profile, request.modelId)),
    ...partMembersLeftOut(request.messages, NO_PLACE),
  ]
}
