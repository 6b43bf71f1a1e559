import type { Warning } from '#gen/portico/inference/v1/inference_pb.js'
import type { ProviderRequest } from '#services/inference/domain/generation.ts'
import {
  foreignLeftOut,
  type Omissions,
  OPEN_MODELS_ONLY,
  partMembersLeftOut,
  providerBodyFor,
  type Setting,
  settingsLeftOut,
} from '#services/inference/domain/left-out.ts'
import type { JsonObject } from '#shared/json.ts'
import { Rejection } from '#shared/rejection.ts'
import { listAt } from '../http/json.ts'
import { OPENAI_FORMAT } from './format.ts'
import { responsesInput } from './input.ts'
import { responsesTools } from './tools.ts'

/** Models that do not think, and so refuse to encrypt thoughts. */
const THOUGHTLESS = /^(ft:)?(gpt-3|gpt-4|chatgpt-|gpt-5(\.\d+)?-chat)/
/** Models for which a place in a prompt can be marked for caching; earlier ones find it themselves. */
const MARKABLE = /^(ft:)?gpt-(5\.([6-9]|\d\d)|[6-9]|\d\d)/

/** Settings for which the API has no member. */
export const RESPONSES_WITHOUT: readonly Setting[] = [
  ...(['sampling.top_k', 'sampling.min_p', 'sampling.top_a', 'sampling.repetition_penalty', 'sampling.seed'] as const),
  ...(['sampling.frequency_penalty', 'sampling.presence_penalty', 'sampling.logit_bias'] as const),
  ...(['reasoning.max_tokens', 'prediction', ...OPEN_MODELS_ONLY] as const),
]

/** The settings of a request for which the API has no member. */
export function responsesWarnings(request: ProviderRequest): Warning[] {
  return [
    ...settingsLeftOut(request, RESPONSES_WITHOUT),
    ...foreignLeftOut(request, OPENAI_FORMAT),
    ...partMembersLeftOut(request.messages, ['text.sources', 'tool_result.failed', 'reasoning']),
  ]
}

/**
 * The body of a request for a response, whole or streamed. The provider stores nothing: thoughts come encrypted, and
 * are sent back that way. Members of `provider_body` and of an extension never replace these.
 */
export function responsesBody(request: ProviderRequest, omissions: Omissions, whole = false): Record<string, unknown> {
  const { modelId, maxOutputTokens, sampling, reasoning, user, providerSession, speed } = request
  const extension = request.extensions.find(({ format }) => format === OPENAI_FORMAT)?.body
  const { instructions, input } = responsesInput(request.messages, { omissions, markable: MARKABLE.test(modelId) })
  if (input.length === 0 && !instructions) {
    const problem = 'must have content that this provider supports'
    throw new Rejection('REQUEST_INVALID', { field: 'messages', problem })
  }
  const body = {
    ...providerBodyFor(request, RESPONSES_WITHOUT),
    ...extension,
    model: modelId,
    instructions,
    input,
    stream: !whole,
    store: false,
    include: includeOf(request, extension),
    max_output_tokens: maxOutputTokens,
    max_tool_calls: request.maxToolCalls,
    ...responsesTools(request),
    temperature: sampling?.temperature,
    top_p: sampling?.topP,
    top_logprobs: sampling?.topLogProbabilities || undefined,
    reasoning: merged(extension?.reasoning, { effort: reasoning?.effort, summary: reasoning?.summary }),
    text: merged(undefined, { format: formatOf(request), verbosity: request.verbosity || undefined }),
    service_tier: request.serviceTier || (speed === 'fast' ? 'priority' : undefined),
    user: user || undefined,
    prompt_cache_key: providerSession || undefined,
  }
  return Object.fromEntries(Object.entries(body).filter(([, value]) => value !== undefined))
}

function includeOf({ modelId, sampling }: ProviderRequest, extension: JsonObject | undefined): unknown {
  const include = new Set<unknown>(listAt(extension?.include))
  if (!THOUGHTLESS.test(modelId)) include.add('reasoning.encrypted_content')
  if (sampling?.topLogProbabilities !== undefined) include.add('message.output_text.logprobs')
  return include.size === 0 ? undefined : [...include]
}

function formatOf({ responseFormat: format }: ProviderRequest): unknown {
  if (format?.format.case === 'jsonObject') return { type: 'json_object' }
  if (format?.format.case !== 'jsonSchema') return undefined
  const { name, schema = {}, strict, description } = format.format.value
  return { type: 'json_schema', name, schema, strict, description: description || undefined }
}

/** Merges two objects, of which the second one takes precedence; undefined if both are empty. */
function merged(extension: unknown, members: Record<string, unknown>): unknown {
  const present = Object.entries(members).filter(([, value]) => value !== undefined && value !== '')
  const all = { ...(typeof extension === 'object' ? extension : {}), ...Object.fromEntries(present) }
  return Object.keys(all).length === 0 ? undefined : all
}
