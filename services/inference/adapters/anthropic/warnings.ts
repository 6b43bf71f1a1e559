import { type Message, Message_Role as Role, type Warning } from '#gen/portico/inference/v1/inference_pb.js'
import type { ProviderRequest } from '#services/inference/domain/generation.ts'
import {
  foreignLeftOut,
  OPEN_MODELS_ONLY,
  partMembersLeftOut,
  type Setting,
  settingsLeftOut,
  warningOf,
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
export function anthropicWarnings(request: ProviderRequest): Warning[] {
  const { reasoning, responseFormat, serviceTier = 'auto', tools, messages } = request
  const warnings = [
    ...settingsLeftOut(request, ANTHROPIC_WITHOUT),
    ...foreignLeftOut(request, ANTHROPIC),
    ...partsLeftOut(messages),
    ...partMembersLeftOut(messages, ['text.phase', 'refusal.phase', 'image.detail', 'reasoning']),
    ...samplingOf(request).warnings,
  ]
  const warn = (field: string, holds: boolean, message: string): void => {
    if (holds) warnings.push(warningOf(field, message))
  }
  warn('response_format', responseFormat?.format.case === 'jsonObject', 'The model is asked for JSON in words')
  warn('service_tier', !TIERS.has(serviceTier), 'This provider has no such tier: it chooses one itself')
  warn(
    'tools',
    tools.some(({ custom }) => custom?.grammar !== undefined),
    'The model is asked in words to follow a grammar',
  )
  const deferred = tools.some((tool) => tool.deferred)
  warn('tools', deferred && !searches(request), 'Nothing searches for deferred tools: all are shown')
  const first = messages.findIndex(({ role }) => role !== Role.SYSTEM)
  const staying = stayingInstructions(request)
  const between = messages.findIndex((message, i) => message.role === Role.SYSTEM && i > first && !staying.has(message))
  warn(`messages[${between}]`, first >= 0 && between > 0, 'It was moved to the beginning of the conversation')
  const { thinking, effort } = thinkingOf(request)
  if (reasoning === undefined) return warnings
  warn('reasoning.summary', reasoning.summary !== undefined && thinking?.type !== 'adaptive', SUMMARY)
  const wantsThoughts =
    reasoning.maxTokens !== undefined || (reasoning.effort !== undefined && reasoning.effort !== 'none')
  const unlimited = thinking?.type === 'adaptive' && reasoning.maxTokens !== undefined
  warn('reasoning.max_tokens', unlimited, 'This model decides itself how long it thinks: it was left out')
  const isOther = effort !== undefined && effort !== reasoning.effort
  warn('reasoning.effort', isOther, `This model has no such effort: "${effort}" is requested instead`)
  warn('reasoning', wantsThoughts && thinking === undefined, `The model does not think: ${whyNoThoughts(request)}`)
  return warnings
}

function whyNoThoughts(request: ProviderRequest): string {
  if (!models.thinks(request.modelId)) return 'it cannot'
  return demandsCall(request) ? 'a call is demanded' : 'the maximum output leaves no room'
}

/** Of a long conversation no more are needed. */
const MAX_WARNINGS = 64

/** What the API does not accept of the parts of a conversation. */
function partsLeftOut(messages: readonly Message[]): Warning[] {
  const warnings: Warning[] = []
  const warn = (field: string, message: string): void => void warnings.push(warningOf(field, message))
  for (const [i, { role, parts }] of messages.entries()) {
    for (const [j, { part, providerMetadata }] of parts.entries()) {
      const field = `messages[${i}].parts[${j}]`
      const kind = unsupportedIn(part)
      if (kind !== undefined) warn(field, `This provider does not support ${kind}: it was left out`)
      if (part.case === 'text') {
        const { text, sources } = part.value
        // What a model says beside calls may be nothing.
        const isSaid = role === Role.USER || text !== ''
        if (isSaid && isBlank(part.value)) warn(field, 'This provider refuses blank texts: it was left out')
        if (sources.length > 0 && objectAt(providerMetadata?.[ANTHROPIC])?.citations === undefined)
          warn(`${field}.text.sources`, 'This provider accepts only citations of its own: they were left out')
      }
      if (warnings.length >= MAX_WARNINGS) return warnings
    }
  }
  return warnings
}
