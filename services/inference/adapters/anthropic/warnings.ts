import type { Message, Part } from '#services/inference/domain/conversation.ts'
import type { GenerationRequest, Warning } from '#services/inference/domain/generation.ts'
import { foreignLeftOut, OPEN_MODELS_ONLY, type Setting, settingsLeftOut } from '#services/inference/domain/left-out.ts'
import { ANTHROPIC } from './extension.ts'
import { thinkingOf } from './thinking.ts'
import { searches } from './tools.ts'

const THINKING = 'A model that thinks takes no such setting: it was left out'
const SUMMARY = 'This provider decides itself how it shows what the model thinks'
const TIERS: ReadonlySet<string> = new Set(['auto', 'default', 'priority'])

/** What the API has no member for. */
export const ANTHROPIC_WITHOUT: readonly Setting[] = [
  ...(['sampling.frequency_penalty', 'sampling.presence_penalty', 'sampling.seed', 'verbosity'] as const),
  ...(['sampling.min_p', 'sampling.top_a', 'sampling.repetition_penalty', 'sampling.logit_bias'] as const),
  ...(['sampling.top_log_probabilities', 'prediction', ...OPEN_MODELS_ONLY] as const),
]

/** What of a request the messages API has no member for, or other bounds. */
export function anthropicWarnings(request: GenerationRequest): Warning[] {
  const { sampling, reasoning, responseFormat, serviceTier = 'auto', tools, messages } = request
  const warnings = [
    ...settingsLeftOut(request, ANTHROPIC_WITHOUT),
    ...foreignLeftOut(request, ANTHROPIC),
    ...mediaLeftOut(messages),
  ]
  const warn = (field: string, holds: boolean, message: string): void => {
    if (holds) warnings.push({ field, message })
  }
  warn('response_format', responseFormat?.type === 'json-object', 'The model is asked for JSON in words')
  warn('service_tier', !TIERS.has(serviceTier), 'This provider has no such tier: it chooses one itself')
  warn(
    'tools',
    tools.some(({ custom }) => custom?.grammar !== undefined),
    'The model is asked in words to follow a grammar',
  )
  const deferred = tools.some((tool) => tool.deferred === true)
  warn('tools', deferred && !searches(request), 'Nothing searches for deferred tools: all are shown')
  const first = messages.findIndex(({ role }) => role !== 'system')
  const between = messages.findIndex(({ role }, i) => role === 'system' && i > first)
  warn(`messages[${between}]`, first >= 0 && between > 0, 'It was moved before the conversation')
  const { thinking } = thinkingOf(request)
  if (thinking === undefined || thinking.type === 'disabled') {
    warn('sampling.temperature', (sampling?.temperature ?? 0) > 1, 'Lowered to 1')
  } else {
    warn('sampling.temperature', sampling?.temperature !== undefined, THINKING)
    warn('sampling.top_p', sampling?.topP !== undefined, THINKING)
    warn('sampling.top_k', sampling?.topK !== undefined, THINKING)
  }
  if (reasoning === undefined) return warnings
  warn('reasoning.summary', reasoning.summary !== undefined && thinking?.type !== 'adaptive', SUMMARY)
  const wanted = reasoning.maxTokens !== undefined || (reasoning.effort !== undefined && reasoning.effort !== 'none')
  warn('reasoning', wanted && thinking === undefined, 'max_output_tokens leaves no room to think: it was left out')
  return warnings
}

/** A long conversation about sounds needs no more. */
const MAX_WARNINGS = 64

/** The API takes neither sound nor video. */
function mediaLeftOut(messages: readonly Message[]): Warning[] {
  const warnings: Warning[] = []
  for (const [i, { parts }] of messages.entries()) {
    for (const [j, part] of parts.entries()) {
      const untaken = untakenIn(part)
      if (untaken === undefined) continue
      const message = `This provider takes no ${untaken}: it was left out`
      warnings.push({ field: `messages[${i}].parts[${j}]`, message })
      if (warnings.length >= MAX_WARNINGS) return warnings
    }
  }
  return warnings
}

function untakenIn(part: Part): 'audio' | 'video' | undefined {
  if (part.type === 'audio' || part.type === 'video') return part.type
  return part.type === 'tool-result' ? part.content.map(untakenIn).find((kind) => kind !== undefined) : undefined
}
