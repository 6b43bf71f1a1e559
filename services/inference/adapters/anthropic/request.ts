import type { ProviderRequest } from '#services/inference/domain/generation.ts'
import { knownOutputLimit } from '#services/inference/domain/ledger/max-cost.ts'
import { providerBodyFor } from '#services/inference/domain/left-out.ts'
import { Rejection } from '#shared/rejection.ts'
import { objectAt } from '../http/json.ts'
import { anthropicConversation } from './conversation.ts'
import { extensionOf } from './extension.ts'
import { stayingInstructions } from './instructions.ts'
import { samplingOf } from './sampling.ts'
import { thinkingOf } from './thinking.ts'
import { AnthropicTools } from './tools.ts'
import { ANTHROPIC_WITHOUT } from './warnings.ts'

/** The API requires a limit; every current model allows this one, and earlier models are known. */
const DEFAULT_MAX_TOKENS = 32_000
const MIN_BUDGET = 1_024
/** Above this, the API refuses to answer without streaming. */
const MAX_WHOLE_TOKENS = 21_333
const JSON_ONLY = 'Answer with one JSON object and nothing else.'

/** How many tokens an answer may have. */
export function maxTokensOf(request: ProviderRequest): number {
  if (request.maxOutputTokens !== undefined) return request.maxOutputTokens
  const tokens = Math.max(DEFAULT_MAX_TOKENS, thinkingOf(request).budget + MIN_BUDGET)
  return Math.min(tokens, knownOutputLimit(request.modelId) ?? tokens)
}

/** Whether the API answers a request without streaming. */
export function comesWhole(request: ProviderRequest): boolean {
  return maxTokensOf(request) <= MAX_WHOLE_TOKENS
}

/**
 * The body of a request for a message, whole or streamed. Members of `provider_body` and of an extension never replace
 * these.
 */
export function anthropicBody(
  request: ProviderRequest,
  whole = false,
  tools = new AnthropicTools(request),
): Record<string, unknown> {
  const { user, speed } = request
  return withoutUndefined({
    ...extraMembers(request),
    ...inputMembers(request, tools),
    stream: !whole,
    max_tokens: maxTokensOf(request),
    ...samplingOf(request).members,
    output_config: outputConfig(request),
    metadata: user ? { user_id: user } : undefined,
    service_tier: tierOf(request),
    speed: speed === 'fast' ? speed : undefined,
  })
}

/** The body of a request that counts the tokens of the input. */
export function countBody(request: ProviderRequest): Record<string, unknown> {
  const { mcp_servers, context_management } = extensionOf(request)?.body ?? {}
  return withoutUndefined({ mcp_servers, context_management, ...inputMembers(request, new AnthropicTools(request)) })
}

/** The members that the model reads. */
function inputMembers(request: ProviderRequest, tools: AnthropicTools): Record<string, unknown> {
  const { messages, modelId, responseFormat } = request
  const conversation = anthropicConversation(messages, tools, stayingInstructions(request))
  const { system } = conversation
  if (conversation.messages.length === 0) {
    const problem = 'must have content besides instructions and blank texts'
    throw new Rejection('REQUEST_INVALID', { field: 'messages', problem })
  }
  if (responseFormat?.format.case === 'jsonObject') system.push({ type: 'text', text: JSON_ONLY })
  return {
    model: modelId,
    messages: conversation.messages,
    system: system.length === 0 ? undefined : system,
    ...tools.members(),
    thinking: thinkingOf(request).thinking,
  }
}

function extraMembers(request: ProviderRequest): Record<string, unknown> {
  const { tools: _1, thinking: _2, output_config: _3, ...members } = extensionOf(request)?.body ?? {}
  return { ...providerBodyFor(request, ANTHROPIC_WITHOUT), ...members }
}

function outputConfig(request: ProviderRequest): Record<string, unknown> | undefined {
  const format = request.responseFormat?.format
  const { effort } = thinkingOf(request)
  const output = {
    ...objectAt(extensionOf(request)?.body?.output_config),
    ...(effort === undefined ? {} : { effort }),
    ...(format?.case === 'jsonSchema' ? { format: { type: 'json_schema', schema: format.value.schema ?? {} } } : {}),
  }
  return Object.keys(output).length === 0 ? undefined : output
}

const TIERS = new Map([
  ['auto', 'auto'],
  ['priority', 'auto'],
  ['default', 'standard_only'],
])

/** The API uses the priority tier of customers who have it, unless a request declines that. */
function tierOf({ serviceTier }: ProviderRequest): string | undefined {
  return TIERS.get(serviceTier ?? '')
}

function withoutUndefined(members: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined))
}
