import type { GenerationRequest } from '#gen/portico/inference/v1/inference_pb.js'

/**
 * What influences the cost of a request, given how the adapter sends it to its provider. Undefined members have no
 * influence.
 */
export interface CostFactors {
  /** The format whose hosted tools and extensions the provider gets; undefined: it gets none. */
  readonly format?: string | undefined
  /** Maximum output if the request sets none; undefined: the model decides. */
  readonly outputTokens?: number | undefined
  /** With a smaller maximum of output the provider would refuse the request; undefined: it takes any. */
  readonly leastOutputTokens?: number | undefined
  /**
   * Maximum price of tokens in percent of the plain price: makers charge more for a tier or a speed, which lists do not
   * contain.
   */
  readonly pricePercent?: number | undefined
  /**
   * The same, by the tier that an answer reports; a tier that is missing here has the plain price. Undefined: the tier
   * makes no difference.
   */
  readonly tierPercents?: ReadonlyMap<string, number> | undefined
  /** Whether something is to be cached for an hour. */
  readonly cachesLong?: boolean | undefined
}

/** Whether a marker in a request asks to cache something for an hour. */
export function cachesLong({ messages, tools, automaticCache }: GenerationRequest): boolean {
  const isLong = (cache: GenerationRequest['automaticCache']): boolean => cache?.ttl === '1h'
  return (
    isLong(automaticCache) ||
    tools.some(({ cacheControl }) => isLong(cacheControl)) ||
    messages.some(({ parts }) => parts.some(({ cacheControl }) => isLong(cacheControl)))
  )
}
