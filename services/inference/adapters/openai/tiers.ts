import type { Asked } from '#services/inference/domain/ledger/asked.ts'

/** Of the plain price, at most: OpenAI lists 170 to 250 % for its priority tier and half for flex, as of November 2026. */
const TIER_PERCENTS: Readonly<Record<string, number>> = { priority: 250, fast: 250, flex: 50 }

/** What a tier costs that is asked for; the answer says by which one it was served. */
export function askedTier(tier: string | undefined): Asked {
  return { pricePercent: TIER_PERCENTS[tier ?? ''], tierPercents: TIER_PERCENTS }
}
