import { pricesAt } from '../cost.ts'
import type { Endpoint } from '../endpoint.ts'
import type { GenerationRequest } from '../generation.ts'
import { knownOutputLimit } from '../known-limits.ts'
import type { Demand } from './admission.ts'
import { inputTokensOf } from './estimate.ts'

/** How much a model is taken to generate at most, where nobody says it. */
const OUTPUT_TOKENS = 32_768
/** What the input is taken for is rather too much: so much output is always left beside it. */
const LEAST_ROOM = 4_096

/**
 * What a request may cost at most where it is served. `asked`: the output that its provider asks for where it sets no maximum; undefined: it
 * leaves that to the model.
 */
export function demandOf(
  request: Omit<GenerationRequest, 'modelId'>,
  endpoint: Endpoint,
  asked: number | undefined,
): Demand {
  const { pricing, contextLength } = endpoint
  const { maxOutputTokens } = request
  const estimate = Number(inputTokensOf(request))
  const inputTokens = contextLength === undefined ? estimate : Math.min(estimate, contextLength)
  const prices = pricing && pricesAt(BigInt(inputTokens), pricing)
  return {
    inputTokens: BigInt(inputTokens),
    outputTokens: BigInt(maxOutputTokens ?? openOutput(endpoint, inputTokens, asked)),
    isFixed: maxOutputTokens !== undefined,
    prices: prices && {
      // Writing to a cache may cost more than input does.
      inputNanos: larger(prices.cacheWriteNanos, prices.inputNanos),
      outputNanos: prices.outputNanos,
    },
  }
}

/** How much output is left open: what the provider asks for, else what the model can give; never more than the model allows, nor than fits. */
function openOutput(
  { modelId, outputLimit = knownOutputLimit(modelId), contextLength }: Endpoint,
  inputTokens: number,
  asked: number | undefined,
): number {
  const most = Math.min(asked ?? outputLimit ?? OUTPUT_TOKENS, outputLimit ?? Infinity)
  return contextLength === undefined ? most : Math.min(most, Math.max(contextLength - inputTokens, LEAST_ROOM))
}

function larger(one: bigint, other: bigint): bigint {
  if (one > other) return one
  return other
}
