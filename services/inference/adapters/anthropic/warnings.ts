import type { GenerationRequest, Warning } from '#services/inference/domain/generation.ts'
import { foreignLeftOut, type Setting, settingsLeftOut } from '#services/inference/domain/left-out.ts'
import { ANTHROPIC } from './messages.ts'
import { thinkingOf } from './request.ts'

const THINKING = 'A model that thinks takes no such setting: it was left out'

/** What the API has no member for. */
const WITHOUT: readonly Setting[] = [
  ...(['sampling.frequency_penalty', 'sampling.presence_penalty', 'sampling.seed', 'verbosity'] as const),
  ...(['sampling.min_p', 'sampling.top_a', 'sampling.repetition_penalty', 'sampling.logit_bias'] as const),
  ...(['sampling.top_log_probabilities', 'prediction', 'service_tier', 'speed'] as const),
  ...(['tools.custom', 'tools.namespace', 'tools.deferred', 'reasoning.summary'] as const),
]

/** What of a request the messages API has no member for, or other bounds. */
export function anthropicWarnings(request: GenerationRequest): Warning[] {
  const { sampling, reasoning, responseFormat } = request
  const warnings = [...settingsLeftOut(request, WITHOUT), ...foreignLeftOut(request, ANTHROPIC)]
  const warn = (field: string, holds: boolean, message: string): void => {
    if (holds) warnings.push({ field, message })
  }
  warn('response_format', responseFormat?.type === 'json-object', 'The model is asked for JSON in words')
  const { thinking } = thinkingOf(request)
  if (thinking === undefined || thinking.type === 'disabled') {
    warn('sampling.temperature', (sampling?.temperature ?? 0) > 1, 'Lowered to 1')
  } else {
    warn('sampling.temperature', sampling?.temperature !== undefined, THINKING)
    warn('sampling.top_p', sampling?.topP !== undefined, THINKING)
    warn('sampling.top_k', sampling?.topK !== undefined, THINKING)
  }
  if (reasoning === undefined) return warnings
  const wanted = reasoning.maxTokens !== undefined || (reasoning.effort !== undefined && reasoning.effort !== 'none')
  warn('reasoning', wanted && thinking === undefined, 'max_output_tokens leaves no room to think: it was left out')
  return warnings
}
