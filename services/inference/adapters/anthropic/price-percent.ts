import type { ProviderRequest } from '#services/inference/domain/generation.ts'
import { extensionOf } from './extension.ts'

/**
 * As of November 2026, Anthropic lists six times the price for its fast mode, and 10% more for requests that only data
 * centres in the US may serve.
 */
const FAST_PERCENT = 600
export const US_PERCENT = 110

/** Maximum price of tokens, in percent of the plain price; undefined: the plain price. */
export function pricePercentOf(request: ProviderRequest): number | undefined {
  const geo = extensionOf(request)?.body?.inference_geo ?? request.providerBody?.inference_geo
  const isUs = geo === 'us'
  if (request.speed !== 'fast') return isUs ? US_PERCENT : undefined
  return isUs ? (FAST_PERCENT * US_PERCENT) / 100 : FAST_PERCENT
}
