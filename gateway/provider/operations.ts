import { z } from 'zod'
import type { Clients } from '../clients.ts'
import { type Input, operation } from '../operation.ts'
import { nameParameter } from '../records/ids.ts'
import { fromLocationRef, locationHeaders, locationQuery, locationRef, toDirectory } from '../records/location.ts'
import { fromModel, fromProvider } from './mappers.ts'
import { modelInfo, providerInfo } from './schemas.ts'

const common = {
  method: 'get',
  query: locationQuery,
  headers: locationHeaders,
} as const

export const listModels = operation({
  ...common,
  id: 'model.list',
  path: '/api/model',
  summary: 'Listed models, which sessions of a location can use',
  answer: z.strictObject({ location: locationRef, data: z.array(modelInfo) }),
  handle: modelsAt,
  present: ({ location, models }) => ({ location: fromLocationRef(location), data: models.map(fromModel) }),
})

export const listProviders = operation({
  ...common,
  id: 'provider.list',
  path: '/api/provider',
  summary: 'Providers whose models sessions of a location can use',
  answer: z.strictObject({ location: locationRef, data: z.array(providerInfo) }),
  handle: modelsAt,
  present: ({ location, providers }) => ({ location: fromLocationRef(location), data: providers.map(fromProvider) }),
})

export const getProvider = operation({
  ...common,
  id: 'provider.get',
  path: '/api/provider/{providerID}',
  summary: 'One provider',
  params: z.object({ providerID: nameParameter('Provider') }),
  answer: z.strictObject({ location: locationRef, data: providerInfo }),
  async handle({ catalog, inference }, { params, query, headers, call }) {
    const [{ location }, { provider }] = await Promise.all([
      catalog.resolveLocation({ directory: toDirectory(query, headers) }, call.options()),
      inference.getProvider({ providerId: params.providerID }, call.options()),
    ])
    return { location, provider }
  },
  present: ({ location, provider }) => ({ location: fromLocationRef(location), data: fromProvider(provider) }),
})

type LocationInput = Pick<
  Input<unknown, z.output<typeof locationQuery>, z.output<typeof locationHeaders>>,
  'query' | 'headers' | 'call'
>

/** They are the same in every location that there is. */
async function modelsAt({ catalog, inference }: Clients, { query, headers, call }: LocationInput) {
  const [{ location }, { models, providers }] = await Promise.all([
    catalog.resolveLocation({ directory: toDirectory(query, headers) }, call.options()),
    inference.listModels({}, call.options()),
  ])
  return { location, models, providers }
}
