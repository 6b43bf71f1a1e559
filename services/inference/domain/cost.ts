import type { Usage } from './generation.ts'

/** Prices in nano-dollars per million tokens. */
export interface Pricing {
  readonly inputNanos: bigint
  readonly outputNanos: bigint
  readonly cacheReadNanos: bigint
  readonly cacheWriteNanos: bigint
}

/** The part of a cost that the output caused, rounded by itself; at most the whole. */
export function outputCostOf(usage: Usage, pricing: Pricing | undefined): bigint {
  return costOf({ ...usage, inputTokens: 0n, cacheReadTokens: 0n, cacheWriteTokens: 0n }, pricing)
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
  if (pricing === undefined) return 0n
  const fresh = usage.inputTokens - usage.cacheReadTokens - usage.cacheWriteTokens
  const millionths =
    (fresh > 0n ? fresh : 0n) * pricing.inputNanos +
    usage.cacheReadTokens * pricing.cacheReadNanos +
    usage.cacheWriteTokens * pricing.cacheWriteNanos +
    usage.outputTokens * pricing.outputNanos
  const nanos = (millionths + MILLION / 2n) / MILLION
  return nanos < MAX_COST_NANOS ? nanos : MAX_COST_NANOS
}
