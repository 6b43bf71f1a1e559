import type { CostFactors } from '#services/inference/domain/ledger/cost-factors.ts'

/** Of the plain price, at most: OpenAI lists 170 to 250 % for its priority tier, as of November 2026. */
const DEAR = [
  ['priority', 250],
  ['fast', 250],
] as const
const TIER_PERCENTS: ReadonlyMap<string, number> = new Map(DEAR)
/** OpenAI itself lists half for flex. Other servers may name a tier because it was requested. */
const OPENAI_PERCENTS: ReadonlyMap<string, number> = new Map([...DEAR, ['flex', 50]])

/** What a requested tier costs; the answer says by which one it was served. `isOpenai`: the server is OpenAI's own. */
export function tierFactors(tier: string | undefined, isOpenai: boolean): CostFactors {
  return { pricePercent: TIER_PERCENTS.get(tier ?? ''), tierPercents: isOpenai ? OPENAI_PERCENTS : TIER_PERCENTS }
}
