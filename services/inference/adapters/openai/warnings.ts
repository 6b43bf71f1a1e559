import type { GenerationRequest, Warning } from '#services/inference/domain/generation.ts'
import type { OpenaiDialect } from './request.ts'

const LEFT_OUT = 'This provider has no such setting: it was left out'

/** What of a request chat completions of a dialect have no member for. */
export function openaiWarnings({ sampling, reasoning }: GenerationRequest, dialect: OpenaiDialect): Warning[] {
  const fields: string[] = []
  if (dialect === 'openai' && sampling?.topK !== undefined) fields.push('sampling.top_k')
  if (dialect !== 'openrouter' && reasoning !== undefined) {
    if (reasoning.summary !== undefined) fields.push('reasoning.summary')
    if (reasoning.maxTokens !== undefined) fields.push('reasoning.max_tokens')
  }
  return fields.map((field) => ({ field, message: LEFT_OUT }))
}
