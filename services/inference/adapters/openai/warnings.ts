import type { GenerationRequest, Warning } from '#services/inference/domain/generation.ts'
import { foreignLeftOut, type Setting, settingsLeftOut } from '#services/inference/domain/left-out.ts'
import type { OpenaiDialect } from './request.ts'

/** What no dialect of chat completions has a member for. */
const NOWHERE: readonly Setting[] = [
  ...(['sampling.min_p', 'sampling.top_a', 'sampling.repetition_penalty', 'sampling.logit_bias'] as const),
  ...(['sampling.top_log_probabilities', 'prediction', 'service_tier', 'speed'] as const),
  ...(['tools.custom', 'tools.namespace', 'tools.deferred'] as const),
]

const WITHOUT: Readonly<Record<OpenaiDialect, readonly Setting[]>> = {
  openai: [...NOWHERE, 'sampling.top_k', 'reasoning.summary', 'reasoning.max_tokens'],
  compatible: [...NOWHERE, 'reasoning.summary', 'reasoning.max_tokens'],
  openrouter: NOWHERE,
}

/** What of a request chat completions of a dialect have no member for. */
export function openaiWarnings(request: GenerationRequest, dialect: OpenaiDialect): Warning[] {
  return [...settingsLeftOut(request, WITHOUT[dialect]), ...foreignLeftOut(request, undefined)]
}
