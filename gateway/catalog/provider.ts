import { z } from 'zod'
import type { Model, Provider } from '#gen/portico/inference/v1/inference_pb.js'
import type { Clients } from '../clients.ts'
import type { JsonOf } from '../kinds.ts'
import { type Input, operation } from '../operation.ts'
import { nameParameter } from '../records/ids.ts'
import { fromLocationRef, locationHeaders, locationQuery, locationRef, toDirectory } from '../records/location.ts'
import { fromCost } from '../records/usage.ts'

const headers = z.record(z.string(), z.string())
const body = z.strictObject({}).meta({ description: 'Portico adds nothing' })

/** Prices in US dollars per million tokens. */
const modelCost = z.strictObject({
  input: z.number(),
  output: z.number(),
  cache: z.strictObject({ read: z.number(), write: z.number() }),
})

/** A model that sessions can use, as clients of OpenCode know it. What is not known is 0 or empty. */
const modelInfo = z
  .strictObject({
    id: z.string(),
    providerID: z.string(),
    name: z.string(),
    api: z.strictObject({ id: z.string(), type: z.literal('native'), settings: z.strictObject({}) }),
    capabilities: z.strictObject({
      tools: z.boolean(),
      input: z.array(z.string()),
      output: z.array(z.string()),
    }),
    request: z.strictObject({ headers, body }),
    variants: z.array(z.strictObject({ id: z.string(), headers, body })),
    time: z.strictObject({ released: z.int() }),
    cost: z.array(modelCost).meta({ description: 'Empty: the price is unknown' }),
    status: z.literal('active'),
    enabled: z.boolean(),
    limit: z.strictObject({
      context: z.int().meta({ description: 'Tokens of input and output together; 0: unknown' }),
      output: z.int().meta({ description: 'Tokens; 0: unknown' }),
    }),
  })
  .meta({ id: 'Model.Info' })

const providerInfo = z
  .strictObject({
    id: z.string(),
    name: z.string(),
    api: z.strictObject({ type: z.literal('native'), settings: z.strictObject({}) }),
    request: z.strictObject({ headers, body }),
  })
  .meta({ id: 'Provider.Info' })

const NOTHING = { headers: {}, body: {} }

function fromModel(model: Model): JsonOf<typeof modelInfo> {
  const { modelId, providerId, displayName, contextLength, outputLimit, inputModalities, outputModalities, pricing } =
    model
  const cost = pricing && {
    input: fromCost(pricing.inputNanos),
    output: fromCost(pricing.outputNanos),
    cache: { read: fromCost(pricing.cacheReadNanos), write: fromCost(pricing.cacheWriteNanos) },
  }
  return {
    id: modelId,
    providerID: providerId,
    name: displayName,
    api: { id: modelId, type: 'native', settings: {} },
    capabilities: { tools: true, input: inputModalities, output: outputModalities },
    request: NOTHING,
    variants: [],
    time: { released: 0 },
    cost: cost === undefined ? [] : [cost],
    status: 'active',
    enabled: true,
    limit: { context: contextLength ?? 0, output: outputLimit ?? 0 },
  }
}

function fromProvider(provider: Provider | undefined): JsonOf<typeof providerInfo> {
  if (provider === undefined) throw new Error('The inference service returned no provider')
  const { providerId } = provider
  return { id: providerId, name: providerId, api: { type: 'native', settings: {} }, request: NOTHING }
}

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
