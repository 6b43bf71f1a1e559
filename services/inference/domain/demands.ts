import type { GenerationRequest } from '#gen/portico/inference/v1/inference_pb.js'
import { pricesAt } from './cost.ts'
import { type Endpoint, UNKNOWN_POLICY } from './endpoint.ts'
import { inputTokensOf } from './ledger/estimate.ts'
import { type Setting, settingsLeftOut } from './left-out.ts'

const NONE: readonly Setting[] = []

/**
 * The demands of a request that an endpoint does not meet, by the names that clients know; empty: it may serve the
 * request. An unknown price exceeds every maximum; the price of long inputs applies if the estimated input is long.
 */
export function unmetDemands(endpoint: Endpoint, request: GenerationRequest): string[] {
  const unmet: Readonly<Record<string, boolean>> = {
    max_tokens: (request.maxOutputTokens ?? 0) > mostOutput(endpoint),
    ...unmetRouting(endpoint, request),
  }
  return Object.keys(unmet).filter((name) => unmet[name])
}

/**
 * Whether an endpoint has room for the input of a request together with its maximum output, as far as is known. The
 * estimate of the input is on the high side, so it is no reason to refuse a request, but one to prefer an endpoint with
 * more room.
 */
export function hasRoom({ contextLength }: Endpoint, request: GenerationRequest): boolean {
  if (contextLength === undefined) return true
  return Number(inputTokensOf(request)) + (request.maxOutputTokens ?? 0) <= contextLength
}

/** Maximum output of an endpoint in tokens; Infinity: unknown. */
export function mostOutput({ contextLength = Infinity, outputLimit = Infinity }: Endpoint): number {
  return Math.min(contextLength, outputLimit)
}

function unmetRouting(endpoint: Endpoint, request: GenerationRequest): Readonly<Record<string, boolean>> {
  const { routing } = request
  if (routing === undefined) return {}
  const { providerId, pricing, policy = UNKNOWN_POLICY } = endpoint
  const { only, ignore, quantizations, maxInputNanos, maxOutputNanos } = routing
  const names = (slugs: readonly string[]): boolean => slugs.some((slug) => slug.toLowerCase() === providerId)
  const isDearer = (most: bigint | undefined, price: bigint | undefined): boolean =>
    most !== undefined && (price === undefined || price > most)
  const prices = pricing && (pricing.long.length === 0 ? pricing : pricesAt(inputTokensOf(request), pricing))
  return {
    only: only.length > 0 && !names(only),
    ignore: names(ignore),
    data_collection: routing.denyDataCollection && policy.collects,
    zdr: routing.zeroDataRetention && !policy.retainsNothing,
    enforce_distillable_text: routing.enforceDistillableText && !policy.distillable,
    quantizations: quantizations.length > 0 && !quantizations.includes(policy.quantization),
    max_price: isDearer(maxInputNanos, prices?.inputNanos) || isDearer(maxOutputNanos, prices?.outputNanos),
    require_parameters: lackingFields(endpoint, request).length > 0,
  }
}

/** The fields of a request that an endpoint has no place for, though the request requires one; empty: none. */
export function lackingFields(endpoint: Endpoint, request: GenerationRequest): string[] {
  if (!request.routing?.requireParameters) return []
  return settingsLeftOut(request, endpoint.without ?? NONE).map(({ field }) => field)
}
