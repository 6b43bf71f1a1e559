import type { ReportedCost } from '#services/inference/domain/cost.ts'
import type { CostFactors } from '#services/inference/domain/ledger/cost-factors.ts'
import type { JsonObject } from '#shared/json.ts'
import { objectAt } from '../http/json.ts'

/** Maximum, relative to the plain price: as of November 2026, OpenAI lists 170 to 250% for its priority tier. */
const DEAR = [
  ['priority', 250],
  ['fast', 250],
] as const
const TIER_PERCENTS: ReadonlyMap<string, number> = new Map(DEAR)
/** OpenAI itself lists half the price for flex. Other servers may name a tier merely because it was requested. */
const OPENAI_PERCENTS: ReadonlyMap<string, number> = new Map([...DEAR, ['flex', 50]])

/**
 * The price factors of a requested tier; the answer says which tier served it. `isOpenai`: the server is OpenAI's own.
 */
export function tierFactors(tier: string | undefined, isOpenai: boolean): CostFactors {
  return { pricePercent: TIER_PERCENTS.get(tier ?? ''), tierPercents: isOpenai ? OPENAI_PERCENTS : TIER_PERCENTS }
}

/**
 * The cost of an answer that a provider reports in its usage, as OpenRouter does, in dollars. With a key of the
 * customer's own (`is_byok`), its own charge is separate from what that key pays. Undefined: it reports none.
 */
export function reportedCost(usage: JsonObject): ReportedCost | undefined {
  const charged = nanosAt(usage.cost)
  if (charged === undefined) return undefined
  const details = objectAt(usage.cost_details)
  const nanos = usage.is_byok === true ? charged + (nanosAt(details?.upstream_inference_cost) ?? 0n) : charged
  const output =
    nanosAt(details?.upstream_inference_completions_cost) ?? nanosAt(details?.upstream_inference_output_cost) ?? 0n
  return { nanos, outputNanos: output < nanos ? output : nanos }
}

function nanosAt(dollars: unknown): bigint | undefined {
  const nanos = typeof dollars === 'number' ? Math.round(dollars * 1e9) : NaN
  return Number.isSafeInteger(nanos) && nanos >= 0 ? BigInt(nanos) : undefined
}
