import { ToolChoice_Mode as Mode } from '#gen/portico/inference/v1/inference_pb.js'
import type { ProviderRequest } from '#services/inference/domain/generation.ts'
import { knownOutputLimit } from '#services/inference/domain/ledger/max-cost.ts'
import type { JsonObject } from '#shared/json.ts'
import { objectAt } from '../http/json.ts'
import { extensionOf } from './extension.ts'
import { models } from './known-models.ts'

const MIN_BUDGET = 1_024
/** Share of a maximum that thoughts may take if they would take all of it. */
const THOUGHTS_SHARE = 0.8
const BUDGETS: Readonly<Record<string, number>> = { minimal: 1_024, low: 4_096, medium: 10_000, high: 16_000 }

interface Thinking {
  readonly thinking: JsonObject | undefined
  readonly effort: string | undefined
  /** The answer's limit must exceed this number of tokens. */
  readonly budget: number
}

/** Whether the request demands a call of a tool; then the API lets no model think. */
export function demandsCall({ toolChoice }: ProviderRequest): boolean {
  return toolChoice !== undefined && toolChoice.mode !== Mode.AUTO && toolChoice.mode !== Mode.NONE
}

/**
 * How many tokens the caller has the model think, in the API's own words; undefined: it does not say. The limit of the
 * answer must exceed it.
 */
export function ownBudgetOf(request: ProviderRequest): number | undefined {
  const budget = objectAt(extensionOf(request)?.body?.thinking)?.budget_tokens
  return typeof budget === 'number' && Number.isSafeInteger(budget) ? budget : undefined
}

/** How the model should think: in the API's own words if the caller uses them, otherwise by the request. */
export function thinkingOf(request: ProviderRequest): Thinking {
  const { reasoning, modelId, maxOutputTokens } = request
  const nothing: Thinking = { thinking: undefined, effort: undefined, budget: 0 }
  const thinking = extensionOf(request)?.body?.thinking
  if (thinking !== undefined) {
    return { ...nothing, thinking: objectAt(thinking), budget: ownBudgetOf(request) ?? 0 }
  }
  if (reasoning === undefined || !models.thinks(modelId)) return nothing
  const { effort, maxTokens, summary } = reasoning
  if (effort === 'none') return { ...nothing, thinking: { type: 'disabled' } }
  const byBudget = models.thinksByBudget(modelId)
  if (demandsCall(request)) return { ...nothing, effort: byBudget ? undefined : effortOf(effort, modelId) }
  if ((maxTokens && !models.decides(modelId)) || (effort && byBudget)) {
    const budget = budgetOf(maxTokens || (BUDGETS[effort ?? ''] ?? 24_000), request)
    // A budget must be smaller than the limit of the answer; if there is no room, the model does not think.
    if (maxOutputTokens !== undefined && budget >= maxOutputTokens) return nothing
    return { ...nothing, thinking: { type: 'enabled', budget_tokens: budget }, budget }
  }
  if (!effort && !maxTokens) return nothing
  // These models hide their thoughts unless the request asks for them.
  const display: JsonObject = summary === undefined ? {} : { display: 'summarized' }
  return { ...nothing, thinking: { type: 'adaptive', ...display }, effort: effortOf(effort, modelId) }
}

/**
 * As many tokens as wanted, if they leave some for the answer: of a maximum that is too small for what an effort or a
 * larger number would use, a fifth.
 */
function budgetOf(tokens: number, { reasoning, modelId, maxOutputTokens }: ProviderRequest): number {
  if (maxOutputTokens === undefined) {
    return Math.max(MIN_BUDGET, Math.min(tokens, (knownOutputLimit(modelId) ?? Infinity) - MIN_BUDGET))
  }
  const isExact = reasoning?.maxTokens && tokens < maxOutputTokens
  return Math.max(MIN_BUDGET, isExact ? tokens : Math.min(tokens, Math.floor(maxOutputTokens * THOUGHTS_SHARE)))
}

/** The effort that a model supports and that is closest to the requested one. */
function effortOf(effort: string | undefined, modelId: string): string | undefined {
  if (effort === 'minimal') return 'low'
  if (effort === 'xhigh' && !models.takesXhigh(modelId)) return 'high'
  return effort || undefined
}
