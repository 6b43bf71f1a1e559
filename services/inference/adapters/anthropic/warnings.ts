import type { Message, Part } from '#services/inference/domain/conversation.ts'
import type { GenerationRequest, Warning } from '#services/inference/domain/generation.ts'
import {
  foreignLeftOut,
  OPEN_MODELS_ONLY,
  partMembersLeftOut,
  type Setting,
  settingsLeftOut,
} from '#services/inference/domain/left-out.ts'
import { objectAt } from '../http/json.ts'
import { isBlank, unsupportedIn } from './conversation.ts'
import { ANTHROPIC } from './extension.ts'
import { stayingInstructions } from './instructions.ts'
import { models } from './known-models.ts'
import { samplingOf } from './sampling.ts'
import { demandsCall, thinkingOf } from './thinking.ts'
import { searches } from './tools.ts'

const SUMMARY = 'This provider decides itself how it shows what the model thinks'
const TIERS: ReadonlySet<string> = new Set(['auto', 'default', 'priority'])

/** Settings for which the API has no member. */
export const ANTHROPIC_WITHOUT: readonly Setting[] = [
  ...(['sampling.frequency_penalty', 'sampling.presence_penalty', 'sampling.seed', 'verbosity'] as const),
  ...(['sampling.min_p', 'sampling.top_a', 'sampling.repetition_penalty', 'sampling.logit_bias'] as const),
  ...(['sampling.top_log_probabilities', 'prediction', 'max_tool_calls', ...OPEN_MODELS_ONLY] as const),
]

/** The settings of a request for which the messages API has no member, or narrower limits. */
export function anthropicWarnings(request: GenerationRequest): Warning[] {
  const { reasoning, responseFormat, serviceTier = 'auto', tools, messages } = request
  const warnings = [
    ...settingsLeftOut(request, ANTHROPIC_WITHOUT),
    ...foreignLeftOut(request, ANTHROPIC),
    ...partsLeftOut(messages),
    ...partMembersLeftOut(messages, ['text.phase', 'refusal.phase', 'image.detail', 'reasoning']),
    ...samplingOf(request).warnings,
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
  const staying = stayingInstructions(request)
  const between = messages.findIndex((message, i) => message.role === 'system' && i > first && !staying.has(message))
  warn(`messages[${between}]`, first >= 0 && between > 0, 'It was moved to the beginning of the conversation')
  const { thinking, effort } = thinkingOf(request)
  if (reasoning === undefined) return warnings
  warn('reasoning.summary', reasoning.summary !== undefined && thinking?.type !== 'adaptive', SUMMARY)
  const wanted = reasoning.maxTokens !== undefined || (reasoning.effort !== undefined && reasoning.effort !== 'none')
  const unlimited = thinking?.type === 'adaptive' && reasoning.maxTokens !== undefined
  warn('reasoning.max_tokens', unlimited, 'This model decides itself how long it thinks: it was left out')
  const isOther = effort !== undefined && effort !== reasoning.effort
  warn('reasoning.effort', isOther, `This model has no such effort: "${effort}" is requested instead`)
  warn('reasoning', wanted && thinking === undefined, `The model does not think: ${whyNoThoughts(request)}`)
  return warnings
}

function whyNoThoughts(request: GenerationRequest): string {
  if (!models.thinks(request.modelId)) return 'it cannot'
  return demandsCall(request) ? 'a call is demanded' : 'the maximum output leaves no room'
}

/** Of a long conversation no more are needed. */
const MAX_WARNINGS = 64

/** What the API does not accept of the parts of a conversation. */
function partsLeftOut(messages: readonly Message[]): Warning[] {
  const warnings: Warning[] = []
  for (const [i, { role, parts }] of messages.entries()) {
    for (const [j, part] of parts.entries()) {
      const field = `messages[${i}].parts[${j}]`
      const kind = unsupportedIn(part)
      if (kind !== undefined)
        warnings.push({ field, message: `This provider does not support ${kind}: it was left out` })
      // What a model says beside calls may be nothing.
      const said = part.type === 'text' && (role === 'user' || part.text !== '')
      if (said && isBlank(part)) warnings.push({ field, message: 'This provider refuses blank texts: it was left out' })
      if (part.type === 'text' && part.sources?.length && !hasCitations(part)) {
        const message = 'This provider accepts only citations of its own: they were left out'
        warnings.push({ field: `${field}.text.sources`, message })
      }
      if (warnings.length >= MAX_WARNINGS) return warnings
    }
  }
  return warnings
}

/** Whether the citations of a text are the API's own. */
function hasCitations({ providerMetadata }: Part): boolean {
  return objectAt(providerMetadata?.[ANTHROPIC])?.citations !== undefined
}
