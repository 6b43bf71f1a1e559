import type { Pricing, Usage } from '#gen/portico/inference/v1/inference_pb.js'

/** What a provider bills, besides tokens at their plain price. Undefined members: nothing. */
export interface Billed {
  /** Tokens written to a cache that keeps them for an hour. */
  readonly longCacheWriteTokens?: bigint | undefined
  /** Web searches by its own tool. */
  readonly webSearches?: bigint | undefined
  /** File searches by its own tool. */
  readonly fileSearches?: bigint | undefined
  /** Whether another of its tools ran that has a price of its own. */
  readonly otherTools?: boolean | undefined
  /** Minimum price of tokens in percent of the plain price, according to the answer. */
  readonly pricePercent?: number | undefined
}

/** The cost of an answer that a provider reports, in nano-dollars. */
export interface ReportedCost {
  readonly nanos: bigint
  /** The part that the output caused. */
  readonly outputNanos: bigint
}

type TokenCounts = Pick<Usage, 'inputTokens' | 'outputTokens' | 'cacheReadTokens' | 'cacheWriteTokens'>

/** What determines a cost, besides usage and prices. */
export interface CostTerms {
  /** Undefined: nothing. */
  readonly billed?: Billed | undefined
  /** Price of tokens in percent of the plain price; undefined: 100. */
  readonly percent?: number | undefined
}

/** The part of a cost that the output caused, rounded separately; at most the whole cost. */
export function outputCostOf(usage: TokenCounts, pricing: Pricing | undefined, { percent }: CostTerms = {}): bigint {
  if (pricing === undefined) return 0n
  const output = { ...usage, inputTokens: 0n, cacheReadTokens: 0n, cacheWriteTokens: 0n }
  return rounded(tokensOf(output, pricesAt(usage.inputTokens, pricing), 0n), percent)
}

const MILLION = 1_000_000n
/** Maximum cost of one generation, ten million dollars, so that sums stay within 64 bits. */
export const MAX_COST_NANOS = 10n ** 16n
/** Assumed price of a search if none is known: makers list 10 to 25 US dollars for a thousand. */
const SEARCH_NANOS = 10_000_000n

/**
 * The cost of a usage in nano-dollars, rounded half up once; 0 if the price is unknown. Cached tokens are part of the
 * input; if a provider reports more of them than input, only they are charged. At most ten million dollars.
 */
export function costOf(
  usage: TokenCounts,
  pricing: Pricing | undefined,
  { billed = {}, percent }: CostTerms = {},
): bigint {
  if (pricing === undefined) return 0n
  const prices = pricesAt(usage.inputTokens, pricing)
  const nanos =
    rounded(tokensOf(usage, prices, billed.longCacheWriteTokens ?? 0n), percent) + searchesCost(billed, prices)
  return nanos < MAX_COST_NANOS ? nanos : MAX_COST_NANOS
}

/** Whether the prices cover everything that determines a cost; otherwise it is an estimate, on the high side. */
export function saysAll(pricing: Pricing | undefined, { billed = {}, percent = 100 }: CostTerms): boolean {
  if (pricing === undefined || percent !== 100 || billed.otherTools) return false
  const { webSearchNanos, fileSearchNanos } = pricing
  return (
    !(billed.webSearches && webSearchNanos === undefined) && !(billed.fileSearches && fileSearchNanos === undefined)
  )
}

/** The prices of a request with this number of input tokens. */
export function pricesAt(inputTokens: bigint, pricing: Pricing): Pricing {
  return pricing.long.find(({ aboveTokens }) => inputTokens > aboveTokens)?.pricing ?? pricing
}

/** The price of writes that a cache keeps for an hour. */
export function longCachePrice({ longCacheWriteNanos, cacheWriteNanos, inputNanos }: Pricing): bigint {
  if (longCacheWriteNanos !== undefined) return longCacheWriteNanos
  const twice = 2n * inputNanos
  if (cacheWriteNanos > twice) return cacheWriteNanos
  return twice
}

/** The price of searches by the provider's own tools. */
export function searchesCost(
  { webSearches = 0n, fileSearches = 0n }: Billed,
  { webSearchNanos = SEARCH_NANOS, fileSearchNanos = SEARCH_NANOS }: Pricing,
): bigint {
  return webSearches * webSearchNanos + fileSearches * fileSearchNanos
}

/** In millionths of nano-dollars. */
function tokensOf(usage: TokenCounts, prices: Pricing, longTokens: bigint): bigint {
  const { inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens } = usage
  const fresh = inputTokens - cacheReadTokens - cacheWriteTokens
  const long = longTokens < cacheWriteTokens ? longTokens : cacheWriteTokens
  return (
    (fresh > 0n ? fresh : 0n) * prices.inputNanos +
    cacheReadTokens * prices.cacheReadNanos +
    (cacheWriteTokens - long) * prices.cacheWriteNanos +
    long * longCachePrice(prices) +
    outputTokens * prices.outputNanos
  )
}

function rounded(millionths: bigint, percent = 100): bigint {
  const nanos = (millionths * BigInt(percent) + 50n * MILLION) / (100n * MILLION)
  return nanos < MAX_COST_NANOS ? nanos : MAX_COST_NANOS
}

const NANOS = 1_000_000_000n

/**
 * Converts US dollars in decimal digits, at most nine after the point, to nano-dollars; undefined if the text is not
 * such a number.
 */
export function nanosOf(dollars: string): bigint | undefined {
  const [, whole, fraction = ''] = /^(\d{1,9})(?:\.(\d{1,9}))?$/.exec(dollars) ?? []
  return whole === undefined ? undefined : BigInt(whole) * NANOS + BigInt(fraction.padEnd(9, '0'))
}

/** Converts nano-dollars to US dollars in decimal digits. */
export function dollarsOf(nanos: bigint): string {
  const fraction = (nanos % NANOS).toString().padStart(9, '0').replace(/0+$/, '')
  return `${nanos / NANOS}${fraction === '' ? '' : `.${fraction}`}`
}
