import type { ReportedCost } from '#services/inference/domain/ledger/billed.ts'
import type { JsonObject } from '#shared/json.ts'
import { objectAt } from '../http/json.ts'

/**
 * What a provider says in its usage that an answer cost: OpenRouter does, in dollars. With a key of one's own (`is_byok`) its own
 * charge stands apart from what that key pays. Undefined: it says nothing.
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
