import type { Warning } from '#gen/portico/inference/v1/inference_pb.js'
import type { ProviderRequest } from '#services/inference/domain/generation.ts'
import {
  foreignLeftOut,
  OPEN_MODELS_ONLY,
  type PartMember,
  partMembersLeftOut,
  type Setting,
  settingsLeftOut,
} from '#services/inference/domain/left-out.ts'
import { proofFormats } from './call-proofs.ts'
import type { ChatProfile, OpenaiDialect } from './dialect.ts'

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
