import type { Usage } from './generation.ts'

/** Prices in nano-dollars per million tokens. */
export interface Pricing {
  readonly inputNanos: bigint
  readonly outputNanos: bigint
  readonly cacheReadNanos: bigint
  readonly cacheWriteNanos: bigint
  /** Other prices for all tokens of a request with a long input, the longest first; undefined: none. */
  readonly long?: readonly LongPricing[] | undefined
  /** Whether nobody configured them: what the provider says that an answer cost counts before them. */
  readonly listed?: boolean | undefined
}

/** Prices of a request whose input has more than so many tokens. */
export interface LongPricing extends Omit<Pricing, 'long' | 'listed'> {
  readonly aboveTokens: bigint
}

/** The part of a cost that the output caused, rounded by itself; at most the whole. */
export function outputCostOf(usage: Usage, pricing: Pricing | undefined): bigint {
  if (pricing === undefined) return 0n
  return sumOf(
    { ...usage, inputTokens: 0n, cacheReadTokens: 0n, cacheWriteTokens: 0n },
    pricesAt(usage.inputTokens, pricing),
  )
}

const MILLION = 1_000_000n
/** The most that one generation is said to cost: ten million dollars. So sums stay within 64 bits. */
export const MAX_COST_NANOS = 10n ** 16n

/**
 * What a usage costs, in nano-dollars, rounded half up once; 0 when the price is unknown (gateway facts 6.5). Cached
 * tokens are part of the input; a provider that reports more of them than input is charged for them alone. At most ten
 * million dollars.
 */
export function costOf(usage: Usage, pricing: Pricing | undefined): bigint {
  return pricing === undefined ? 0n : sumOf(usage, pricesAt(usage.inputTokens, pricing))
}

/** The prices of a request with so many tokens of input. */
export function pricesAt(inputTokens: bigint, pricing: Pricing): Pricing {
  return pricing.long?.find(({ aboveTokens }) => inputTokens > aboveTokens) ?? pricing
}

function sumOf(usage: Usage, pricing: Pricing): bigint {
  const fresh = usage.inputTokens - usage.cacheReadTokens - usage.cacheWriteTokens
  const millionths =
    (fresh > 0n ? fresh : 0n) * pricing.inputNanos +
    usage.cacheReadTokens * pricing.cacheReadNanos +
    usage.cacheWriteTokens * pricing.cacheWriteNanos +
    usage.outputTokens * pricing.outputNanos
  const nanos = (millionths + MILLION / 2n) / MILLION
  return nanos < MAX_COST_NANOS ? nanos : MAX_COST_NANOS
}
