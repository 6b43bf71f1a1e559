import { Rejection } from '#shared/rejection.ts'
import { hasRoom, unmetDemands } from '../domain/demands.ts'
import type { Endpoint } from '../domain/endpoint.ts'
import type { PriceList } from '../ports/price-list.ts'
import type { Generation, GenerationDependencies } from './generation.ts'

/**
 * Chooses the first endpoint of the model that meets what the request demands, one with room for it before others, and finds its price.
 * Rejects with NO_ENDPOINT, metadata `model` and `demands`, when there is none.
 */
export async function chooseEndpoint(
  generation: Generation,
  { prices, providers }: Pick<GenerationDependencies, 'prices' | 'providers'>,
): Promise<void> {
  const { endpoints, input } = generation
  const demands = new Set<string>()
  const serving: Pick<Generation, 'endpoint' | 'provider'>[] = []
  for (const found of endpoints) {
    const endpoint = found.pricing === undefined ? await withPrice(found, prices) : found
    const provider = providers.get(endpoint.providerId)
    const unmet = unmetDemands(endpoint, input.request)
    if (provider !== undefined && unmet.length === 0) serving.push({ endpoint, provider })
    for (const name of unmet) demands.add(name)
  }
  const [first, ...others] = serving
  if (first !== undefined) {
    const roomy = others.length === 0 ? first : serving.find(({ endpoint }) => hasRoom(endpoint, input.request))
    Object.assign(generation, roomy ?? first)
    return
  }
  const [{ providerId, modelId }] = endpoints
  throw new Rejection('NO_ENDPOINT', {
    model: `${providerId}/${modelId}`.slice(0, 256),
    demands: [...demands].join(', '),
  })
}

/** With what the list says where the operator says nothing. */
export async function withPrice(endpoint: Endpoint, prices: PriceList): Promise<Endpoint> {
  const listed = await prices.find(endpoint.providerId, endpoint.modelId)
  if (listed === undefined) return endpoint
  const { pricing = listed.pricing, contextLength = listed.contextLength } = endpoint
  return { ...endpoint, pricing, contextLength }
}
