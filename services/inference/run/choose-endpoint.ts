import { Rejection } from '#shared/rejection.ts'
import { hasRoom, lackingFields, mostOutput, unmetDemands } from '../domain/demands.ts'
import type { Endpoint } from '../domain/endpoint.ts'
import type { PriceList } from '../ports/price-list.ts'
import type { Generation, GenerationDependencies } from './generation.ts'

/**
 * Chooses the first endpoint of the model that meets the demands of the request, preferring one with room for it, and
 * finds its price. Rejects with NO_ENDPOINT if there is none: metadata `model`, `demands`, and with
 * `require_parameters` the `fields` for which an endpoint has no place.
 */
export async function chooseEndpoint(
  generation: Generation,
  { prices, providers }: Pick<GenerationDependencies, 'prices' | 'providers'>,
): Promise<void> {
  const { endpoints, input } = generation
  const demands = new Set<string>()
  const fields = new Set<string>()
  const serving: Pick<Generation, 'endpoint' | 'provider'>[] = []
  for (const listed of endpoints) {
    const endpoint = listed.pricing === undefined ? await withPrice(listed, prices) : listed
    const provider = providers.get(endpoint.providerId)
    const unmet = unmetDemands(endpoint, input.request)
    if (provider !== undefined && unmet.length === 0) serving.push({ endpoint, provider })
    const { maxOutputTokens } = input.request
    const tooMuch = `max_tokens is ${maxOutputTokens}, ${nameOf(endpoint)} gives at most ${mostOutput(endpoint)}`
    for (const field of lackingFields(endpoint, input.request)) fields.add(generation.ownField(field))
    for (const name of unmet) demands.add(name === 'max_tokens' ? tooMuch : name)
  }
  const [first, ...others] = serving
  if (first !== undefined) {
    const roomy = others.length === 0 ? first : serving.find(({ endpoint }) => hasRoom(endpoint, input.request))
    Object.assign(generation, roomy ?? first)
    return
  }
  throw new Rejection('NO_ENDPOINT', {
    model: nameOf(endpoints[0]),
    demands: [...demands].join(', ').slice(0, MAX_DEMANDS),
    ...(fields.size === 0 ? {} : { fields: [...fields].slice(0, MAX_FIELDS).join(', ') }),
  })
}

/** In characters. */
const MAX_DEMANDS = 1_024

const MAX_FIELDS = 32

const nameOf = ({ providerId, modelId }: Endpoint): string => `${providerId}/${modelId}`.slice(0, 256)

/** Fills in what the list knows where the operator says nothing. */
export async function withPrice(endpoint: Endpoint, prices: PriceList): Promise<Endpoint> {
  const listed = await prices.find(endpoint.providerId, endpoint.modelId)
  if (listed === undefined) return endpoint
  const { pricing = listed.pricing, contextLength = listed.contextLength } = endpoint
  return { ...endpoint, pricing, contextLength }
}
