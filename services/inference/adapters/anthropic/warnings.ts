import type { GenerationRequest, Warning } from '#services/inference/domain/generation.ts'
import { thinkingOf } from './request.ts'

const LEFT_OUT = 'This provider has no such setting: it was left out'
const THINKING = 'A model that thinks takes no such setting: it was left out'

/** What of a request the messages API has no member for, or other bounds. */
export function anthropicWarnings(request: GenerationRequest): Warning[] {
  const { sampling, reasoning, verbosity, responseFormat } = request
  const warnings: Warning[] = []
  const warn = (field: string, holds: boolean, message: string): void => {
    if (holds) warnings.push({ field, message })
  }
  warn('sampling.frequency_penalty', sampling?.frequencyPenalty !== undefined, LEFT_OUT)
  warn('sampling.presence_penalty', sampling?.presencePenalty !== undefined, LEFT_OUT)
  warn('sampling.seed', sampling?.seed !== undefined, LEFT_OUT)
  warn('verbosity', verbosity !== undefined, LEFT_OUT)
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
  warn('reasoning.summary', reasoning.summary !== undefined, LEFT_OUT)
  const wanted = reasoning.maxTokens !== undefined || (reasoning.effort !== undefined && reasoning.effort !== 'none')
  warn('reasoning', wanted && thinking === undefined, 'max_output_tokens leaves no room to think: it was left out')
  return warnings
}
