import type { GenerationRequest, Pricing } from '#gen/portico/inference/v1/inference_pb.js'
import { longCachePrice, pricesAt, searchesCost } from '../cost.ts'
import type { Endpoint } from '../endpoint.ts'
import type { MaxCost, Prices } from './admission.ts'
import type { CostFactors } from './cost-factors.ts'
import { inputTokensOf, openInputOf } from './estimate.ts'

/** Assumed maximum output of a model if it is unknown. */
const OUTPUT_TOKENS = 32_768
/** The estimate of the input is on the high side, so at least this much output is assumed to fit beside it. */
const LEAST_ROOM = 4_096
const MILLION = 1_000_000n

/** What determines the maximum cost of a request at its endpoint. */
export function maxCostOf(whole: GenerationRequest, endpoint: Endpoint, factors: CostFactors): MaxCost {
  const { pricing, contextLength = Infinity } = endpoint
  const request = withoutForeign(whole, factors)
  const { maxOutputTokens } = request
  const inputTokens = Math.min(Number(inputTokensOf(request)), contextLength)
  const outputTokens = maxOutputTokens ?? openOutput(endpoint, inputTokens, factors.outputTokens)
  const maxCost = { inputTokens: BigInt(inputTokens), outputTokens: BigInt(outputTokens) }
  const isFixed = maxOutputTokens !== undefined
  if (pricing === undefined) return { ...maxCost, isFixed, prices: undefined }
  const least = factors.leastOutputTokens
  const open = openInputOf(request, endpoint.modelId)
  const openTokens = Math.min(open.mediaTokens, contextLength - inputTokens) + open.toolTokens
  const plain = pricesAt(BigInt(inputTokens + openTokens), pricing)
  const prices = highest(plain, factors)
  const extra = BigInt(openTokens) * prices.inputNanos + BigInt(open.outputTokens) * prices.outputNanos
  const searches = searchesCost({ webSearches: BigInt(open.searches), fileSearches: BigInt(open.fileSearches) }, plain)
  const extraNanos = (extra + MILLION - 1n) / MILLION + searches
  const leastOutputTokens = least === undefined ? undefined : BigInt(least)
  return { ...maxCost, isFixed, prices, extraNanos: extraNanos || undefined, leastOutputTokens }
}

/**
 * Whether a request without a maximum of its own is sent one: where money is limited and output has a price, and where
 * its provider would send more than the model gives.
 */
export function hasToSendMaximum(
  { isFixed, prices }: MaxCost,
  { isLimited, endpoint, factors }: { isLimited: boolean; endpoint: Endpoint; factors: CostFactors },
): boolean {
  const isPaid = isLimited && (prices?.outputNanos ?? 0n) > 0n
  const isTooMuch = (factors.outputTokens ?? 0) > (endpoint.outputLimit ?? Infinity)
  return !isFixed && (isPaid || isTooMuch)
}

/** Parts for other kinds of providers are left out, and cost nothing. */
function withoutForeign(request: GenerationRequest, { format }: CostFactors): typeof request {
  const { hostedTools, extensions } = request
  if (hostedTools.length + extensions.length === 0) return request
  const isOwn = (one: { readonly format: string }): boolean => one.format === format
  return { ...request, hostedTools: hostedTools.filter(isOwn), extensions: extensions.filter(isOwn) }
}

/**
 * The highest prices that may apply: writing to a cache may cost more than input, and a tier more than the plain price.
 */
function highest(prices: Pricing, { pricePercent = 100, cachesLong = false }: CostFactors): Prices {
  const percent = BigInt(Math.max(pricePercent, 100))
  const written = cachesLong ? longCachePrice(prices) : prices.cacheWriteNanos
  return {
    inputNanos: (larger(written, prices.inputNanos) * percent) / 100n,
    outputNanos: (prices.outputNanos * percent) / 100n,
  }
}

/**
 * How much output is possible: the maximum that the provider is sent, else what the model can generate; never more than
 * the model allows, or than fits.
 */
function openOutput(
  { modelId, outputLimit = knownOutputLimit(modelId), contextLength }: Endpoint,
  inputTokens: number,
  maximum: number | undefined,
): number {
  const most = Math.min(maximum ?? outputLimit ?? OUTPUT_TOKENS, outputLimit ?? Infinity)
  return contextLength === undefined ? most : Math.min(most, Math.max(contextLength - inputTokens, LEAST_ROOM))
}

function larger(one: bigint, other: bigint): bigint {
  if (one > other) return one
  return other
}

/**
 * The maximum output of models according to their makers, by the beginning of their name, as of November 2026; the
 * first match counts. Price lists do not contain it, and providers refuse a maximum above it.
 */
const OUTPUT_LIMITS: readonly (readonly [RegExp, number])[] = [
  [/^gpt-(3\.5|4-turbo|4-\d{4}-preview|4-vision)/, 4_096],
  [/^gpt-4(-|$)/, 8_192],
  [/^(chatgpt-4o|gpt-4o|gpt-4\.5|gpt-5(\.\d+)?-chat)/, 16_384],
  [/^(gpt-4\.1|o1-preview)/, 32_768],
  [/^o1-mini/, 65_536],
  [/^o\d/, 100_000],
  [/^gpt-[5-9]/, 128_000],
  [/^claude-3-(opus|sonnet|haiku)/, 4_096],
  [/^claude-3[-.]5-/, 8_192],
  [/^claude-opus-4([-.][01])?(-20\d{6}.*)?$/, 32_000],
  [/^claude-opus-4[-.]([6-9]|\d\d)(-|$)/, 128_000],
  [/^claude-/, 64_000],
  [/^gemini-(1\.5|2\.0)/, 8_192],
  [/^gemini-/, 65_536],
  [/^deepseek-reasoner/, 65_536],
  [/^command-r/, 4_096],
  [/^(command-|deepseek-chat|gemma|llama-4-)/, 8_192],
  [/^kimi-k2/, 16_384],
]

/** The maximum output of a model, whoever serves it (`openai/gpt-4o`, `us.anthropic.claude-…`); undefined: unknown. */
export function knownOutputLimit(modelId: string): number | undefined {
  const name = modelId.replace(/^.*(\/|anthropic\.)/, '')
  return OUTPUT_LIMITS.find(([pattern]) => pattern.test(name))?.[1]
}
