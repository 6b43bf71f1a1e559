import type { Asked } from '#services/inference/domain/ledger/asked.ts'

/** Of the plain price, at most: OpenAI lists 170 to 250 % for its priority tier, as of November 2026. */
const DEAR = [
  ['priority', 250],
  ['fast', 250],
] as const
const TIER_PERCENTS: ReadonlyMap<string, number> = new Map(DEAR)
/** OpenAI itself lists half for flex. Other servers may name a tier because it was asked for. */
const OPENAI_PERCENTS: ReadonlyMap<string, number> = new Map([...DEAR, ['flex', 50]])

/** What a tier costs that is asked for; the answer says by which one it was served. `isOpenai`: the server is OpenAI's own. */
export function askedTier(tier: string | undefined, isOpenai: boolean): Asked {
  return { pricePercent: TIER_PERCENTS.get(tier ?? ''), tierPercents: isOpenai ? OPENAI_PERCENTS : TIER_PERCENTS }
}
