import type { CostFactors } from '#services/inference/domain/ledger/cost-factors.ts'

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
