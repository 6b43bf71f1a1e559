import { FlatTools } from '#services/inference/domain/flat-tools.ts'
import type { ProviderRequest } from '#services/inference/domain/generation.ts'
import { providerBodyFor } from '#services/inference/domain/left-out.ts'
import { Rejection } from '#shared/rejection.ts'
import { proofFormats } from './call-proofs.ts'
import { openaiMessages } from './conversation.ts'
import type { OpenaiDialect } from './dialect.ts'
import type { ChatContext } from './pieces.ts'
import { samplingOf } from './sampling.ts'
import { openaiTools } from './tools.ts'
import { CHAT_WITHOUT } from './warnings.ts'

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
