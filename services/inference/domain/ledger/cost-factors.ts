import type { GenerationRequest } from '../generation.ts'

/** What changes what a request may cost, as the adapter of its provider sends it. Undefined members change nothing. */
export interface CostFactors {
  /** The kind whose hosted tools and extensions the provider gets; undefined: it gets none. */
  readonly format?: string | undefined
  /** Output, where the request sets no maximum; undefined: the model decides. */
  readonly outputTokens?: number | undefined
  /** What tokens cost at most, in percent of the plain price: makers document more for a tier or a speed, and lists do not have it. */
  readonly pricePercent?: number | undefined
  /** The same by the tier that an answer says it was served by; one that is not here costs the plain price. Undefined: as for the request. */
  readonly tierPercents?: ReadonlyMap<string, number> | undefined
  /** Whether something is to be kept in a cache for an hour. */
  readonly cachesLong?: boolean | undefined
}

/** Whether a marker of a request has something kept in a cache for an hour. */
export function cachesLong({ messages, tools, automaticCache }: GenerationRequest): boolean {
  const isLong = (cache: GenerationRequest['automaticCache']): boolean => cache?.ttl === '1h'
  return (
    isLong(automaticCache) ||
    tools.some(({ cache }) => isLong(cache)) ||
    messages.some(({ parts }) => parts.some(({ cache }) => isLong(cache)))
  )
}
